//! One pass over a workload, in the steps of the reconcilers.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use vmafx_kit::metrics::Metrics;
use vmafx_operator::error::ApiError;
use vmafx_operator::runtime::ReconcileError;
use vmafx_operator::workload::{
    ChildDecision, DesiredWorkload, Freshness, StatefulSetSnapshot, SyncPlan, TrackedResource,
    WorkloadAction, WorkloadCaches, WorkloadDecision, WorkloadMetrics, WorkloadPlan, WorkloadStatus,
    Workloads, plan,
};

/// Workloads with empty caches.
pub(crate) fn workloads(client: &Client) -> (Workloads, WorkloadCaches) {
    let caches = WorkloadCaches::default();
    let metrics = WorkloadMetrics::new(&mut Metrics::new("test"));
    (Workloads::new(client, caches.clone(), metrics), caches)
}

/// What a pass has planned and led to.
#[derive(Debug)]
pub(crate) struct Pass {
    plan: WorkloadPlan,
    pub(crate) status: WorkloadStatus,
    pub(crate) live: Option<Arc<StatefulSetSnapshot>>,
}

impl Pass {
    /// `read` reads the resource past every cache.
    pub(crate) async fn run<R>(
        workloads: &Workloads,
        resource: &TrackedResource,
        desired: DesiredWorkload,
        read: impl Fn() -> R + Send + Sync,
    ) -> Result<Self, ReconcileError>
    where
        R: Future<Output = Result<Option<TrackedResource>, ApiError>> + Send,
    {
        let mut freshness = Freshness::Cached;
        loop {
            let observed = workloads.observe(resource.clone(), &desired, freshness, &read).await;
            let plan = plan(&Ok(desired.clone()), &observed);
            let applied = workloads.apply(&plan).await;
            if let Some(live) = freshness.after(&applied) {
                freshness = live;
                continue;
            }
            let live = applied?;
            let status = plan.status(Ok(&live));
            return Ok(Self { plan, status, live: live.stateful_set });
        }
    }

    fn steps(&self) -> &SyncPlan {
        let WorkloadAction::Sync(steps) = &self.plan.action else { panic!("{:?}", self.plan) };
        steps
    }

    pub(crate) fn decision(&self) -> WorkloadDecision {
        self.steps().stateful_set.decision.clone()
    }

    pub(crate) fn service(&self) -> ChildDecision {
        self.steps().service.as_ref().unwrap().decision.clone()
    }

    pub(crate) fn requeue_after(&self) -> Duration {
        self.plan.requeue_after().unwrap()
    }
}
