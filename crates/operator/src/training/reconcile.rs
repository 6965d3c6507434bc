//! One pass over a VmafxModelTraining.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::Client;

use super::apply::apply;
use super::observe::observe;
use super::plan::plan;
use super::poll::Poller;
use super::render::{TrainerDefaults, desired};
use super::{CachedTraining, status};
use crate::events::EventRecorder;
use crate::key::ObjectKey;
use crate::render::TRAINER;
use crate::runtime::{Cache, Reconcile, ReconcileError, RequeueAfter, WatchedKind};
use crate::workload::{Freshness, Workloads};

pub struct TrainingReconciler {
    pub client: Client,
    pub trainings: Cache<CachedTraining>,
    pub workloads: Arc<Workloads>,
    pub poller: Poller,
    pub recorder: EventRecorder,
    pub defaults: TrainerDefaults,
}

impl Reconcile for TrainingReconciler {
    const KIND: WatchedKind = WatchedKind::Training;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<RequeueAfter>, ReconcileError> {
        let Some(cached) = self.trainings.get(key) else {
            self.forget(key);
            return Ok(None);
        };
        let training = &cached.resource;
        if training.metadata.deletion_timestamp.is_some() {
            // Garbage collection removes its objects by their owner references.
            return Ok(None);
        }
        let desired = desired(training, &self.defaults);
        let mut freshness = Freshness::Cached;
        loop {
            let now = Timestamp::now();
            let observed = observe(self, training, &desired, freshness).await;
            let plan = plan(training, &desired, &observed, now);
            let applied = apply(self, training, &plan).await;
            if let Some(live) = freshness.after(&applied.workload) {
                freshness = live;
                continue;
            }
            let exists = status::write(self, training, &plan, &applied, now).await?;
            return if exists { applied.result().map(|()| Some(plan.requeue_after)) } else { Ok(None) };
        }
    }
}

impl TrainingReconciler {
    fn forget(&self, key: &ObjectKey) {
        let object = |name| ObjectKey::new(key.namespace.clone(), name);
        self.workloads.forget(&object(TRAINER.workload(&key.name)), &object(TRAINER.service(&key.name)));
        self.poller.forget(key);
    }
}
