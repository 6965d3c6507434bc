//! The reference from a resource to its StatefulSet.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The StatefulSet that the operator created or adopted. The UID distinguishes it from another one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatefulSetRef {
    /// Name of the StatefulSet, in the namespace of the resource.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// UID of the StatefulSet.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,
}
