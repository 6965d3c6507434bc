//! Observes the objects of a VmafxNode, and whether the controller answers.

use kube::ResourceExt as _;
use vmafx_api::VmafxNode;
use vmafx_api::node::ManagementPolicy;

use super::NodeReconciler;
use super::probe::ProbedController;
use super::render::workload_name;
use crate::key::ObjectKey;
use crate::render::RenderError;
use crate::workload::{DesiredWorkload, Freshness, ObservedWorkload, TrackedResource};

#[derive(Debug, PartialEq)]
pub struct ObservedNode {
    pub workload: ObservedWorkload,
    /// `None` if the spec requests no workers: then no agent sends heartbeats, and the controller is not probed.
    pub controller: Option<ProbedController>,
}

pub(super) async fn observe(
    reconciler: &NodeReconciler,
    node: &VmafxNode,
    desired: &Result<DesiredWorkload, RenderError>,
    freshness: Freshness,
) -> ObservedNode {
    let NodeReconciler { client, workloads, prober, .. } = reconciler;
    let resource = TrackedResource::of(node);
    let workload = async {
        match desired {
            Ok(desired) if node.spec.management_policy == ManagementPolicy::Managed => {
                let key = resource.owner.key.clone();
                let read = || TrackedResource::read::<VmafxNode>(client, &key);
                workloads.observe(resource, desired, freshness, read).await
            }
            _ => {
                let key = ObjectKey::new(node.namespace().unwrap_or_default(), workload_name(node));
                workloads.observe_cached(resource, &key)
            }
        }
    };
    let controller = async {
        let wants_workers = !node.spec.paused && node.spec.replicas > 0;
        if wants_workers { Some(prober.ask().await) } else { None }
    };
    let (workload, controller) = tokio::join!(workload, controller);
    ObservedNode { workload, controller }
}
