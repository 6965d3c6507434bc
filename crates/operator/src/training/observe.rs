//! Observes the objects of a VmafxModelTraining, and what its trainer reports.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use vmafx_api::VmafxModelTraining;

use super::TrainingReconciler;
use super::poll::PollResult;
use crate::key::ObjectKey;
use crate::render::{RenderError, TRAINER};
use crate::workload::{DesiredWorkload, Freshness, ObservedWorkload, TrackedResource, WorkerCounts};

#[derive(Debug, PartialEq)]
pub struct ObservedTraining {
    pub workload: ObservedWorkload,
    /// `None` if the trainer was not polled.
    pub trainer: Option<ObservedTrainer>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ObservedTrainer {
    pub poll: Arc<PollResult>,
    pub next_poll: Duration,
}

pub(super) async fn observe(
    reconciler: &TrainingReconciler,
    training: &VmafxModelTraining,
    desired: &Result<DesiredWorkload, RenderError>,
    freshness: Freshness,
) -> ObservedTraining {
    let TrainingReconciler { client, workloads, .. } = reconciler;
    let resource = TrackedResource::of(training);
    let key = resource.owner.key.clone();
    let workload = if let Ok(desired) = desired {
        let read = || TrackedResource::read::<VmafxModelTraining>(client, &key);
        workloads.observe(resource, desired, freshness, read).await
    } else {
        let set = ObjectKey::new(key.namespace.clone(), TRAINER.workload(&key.name));
        workloads.observe_cached(resource, &set)
    };
    let trainer = poll(reconciler, training, &key, &workload).await;
    ObservedTraining { workload, trainer }
}

/// Polls the trainer if one of ours can answer. A run without a status is not polled: its trainer cannot run yet, and a
/// poll would delay the first status by its timeout.
async fn poll(
    TrainingReconciler { poller, .. }: &TrainingReconciler,
    training: &VmafxModelTraining,
    key: &ObjectKey,
    workload: &ObservedWorkload,
) -> Option<ObservedTrainer> {
    let live = workload.stateful_set.live.as_deref();
    let remain = live.is_some_and(|live| WorkerCounts::from(live).remain());
    if training.spec.paused && !remain {
        poller.forget(key);
        return None;
    }
    let tracked = workload.resource.tracked.as_ref();
    let live = live.filter(|live| tracked == Some(&live.reference()) && !workload.is_foreign())?;
    training.status.as_ref()?;
    let trainer = format!("{}/{}", training.uid().unwrap_or_default(), live.identity.uid);
    let (poll, next_poll) = poller.poll(key, &trainer).await;
    Some(ObservedTrainer { poll, next_poll })
}
