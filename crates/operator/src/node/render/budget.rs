//! The PodDisruptionBudget: how many workers may be evicted at the same time.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use vmafx_api::VmafxNode;

use super::{metadata, selector};

/// One at a time, never zero: a budget that allows no disruption makes Kubernetes nodes impossible to drain. A worker that
/// is not ready does no work, so it may be evicted at any time.
pub fn render(node: &VmafxNode) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(node),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(LabelSelector { match_labels: Some(selector(node)), ..LabelSelector::default() }),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}
