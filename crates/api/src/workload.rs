//! What a resource says of the StatefulSet that runs for it.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The StatefulSet that the operator made or adopted. The UID tells "we made this one" from "somebody made one of
/// the same name".
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
