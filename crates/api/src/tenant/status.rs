//! The status of a tenant.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::Condition;

/// Whether the tenant is in force. Only controllers write it, each the same.
#[derive(Clone, Debug, Default, PartialEq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VmafxTenantStatus {
    /// The generation of the spec that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready: whether the controllers use the tenant, and if not, what to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
