//! One pass over a VmafxNode.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::Client;

use super::observe::observe;
use super::plan::plan;
use super::probe::Prober;
use super::render::{NodeDefaults, desired};
use super::{CachedNode, status};
use crate::events::EventRecorder;
use crate::key::ObjectKey;
use crate::render::NODE;
use crate::runtime::{Cache, Reconcile, ReconcileError, RequeueAfter, WatchedKind};
use crate::workload::{Freshness, Workloads};

pub struct NodeReconciler {
    pub client: Client,
    pub nodes: Cache<CachedNode>,
    pub workloads: Arc<Workloads>,
    pub prober: Prober,
    pub recorder: EventRecorder,
    pub defaults: NodeDefaults,
}

impl Reconcile for NodeReconciler {
    const KIND: WatchedKind = WatchedKind::Node;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<RequeueAfter>, ReconcileError> {
        let Some(cached) = self.nodes.get(key) else {
            self.forget(key);
            return Ok(None);
        };
        let node = &cached.resource;
        if node.metadata.deletion_timestamp.is_some() {
            // Garbage collection removes its objects by their owner references.
            return Ok(None);
        }
        let desired = desired(node, &self.defaults);
        let mut freshness = Freshness::Cached;
        loop {
            let now = Timestamp::now();
            let observed = observe(self, node, &desired, freshness).await;
            let plan = plan(node, &desired, &observed, now);
            let applied = self.workloads.apply(&plan.workload).await;
            if let Some(live) = freshness.after(&applied) {
                freshness = live;
                continue;
            }
            let exists = status::write(self, node, &plan, &applied, now).await?;
            return if exists { applied.map(|_| Some(plan.requeue_after())) } else { Ok(None) };
        }
    }
}

impl NodeReconciler {
    fn forget(&self, key: &ObjectKey) {
        let objects = ObjectKey::new(key.namespace.clone(), NODE.workload(&key.name));
        self.workloads.forget(&objects, &objects);
    }
}
