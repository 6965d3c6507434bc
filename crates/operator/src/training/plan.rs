//! What to do about a VmafxModelTraining, and why. Pure.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use vmafx_api::VmafxModelTraining;

use super::checkpoint::{self, CheckpointEvent};
use super::observe::ObservedTraining;
use super::poll::PollResult;
use super::status::with_report;
use crate::render::RenderError;
use crate::runtime::RequeueAfter;
use crate::workload::{self, DesiredWorkload, WorkloadPlan};

/// Requeue delay of a run whose workload gives none.
const RECHECK_INTERVAL: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq)]
pub struct TrainingPlan {
    pub workload: WorkloadPlan,
    /// What the trainer reported, for the status; `None` if it was not polled.
    pub poll: Option<Arc<PollResult>>,
    /// The event that precedes the record of a new checkpoint in the status.
    pub checkpoint: Option<CheckpointEvent>,
    pub requeue_after: RequeueAfter,
}

pub fn plan(
    training: &VmafxModelTraining,
    desired: &Result<DesiredWorkload, RenderError>,
    observed: &ObservedTraining,
    now: Timestamp,
) -> TrainingPlan {
    let workload = workload::plan(desired, &observed.workload);
    let poll = observed.trainer.as_ref().map(|trainer| Arc::clone(&trainer.poll));
    let checkpoint = poll.as_deref().and_then(|poll| {
        let recorded = with_report(training.status.clone().unwrap_or_default(), poll.as_ref().ok()?, now);
        checkpoint::written(&training.uid().unwrap_or_default(), training.status.as_ref(), &recorded)
    });
    let next_poll = match &observed.trainer {
        Some(trainer) => Some(trainer.next_poll),
        // The trainer is polled as soon as its StatefulSet is tracked.
        None => workload.installs().then_some(Duration::ZERO),
    };
    let requeue_after = workload.requeue_after().unwrap_or(RECHECK_INTERVAL);
    let requeue_after = RequeueAfter(next_poll.map_or(requeue_after, |poll| poll.min(requeue_after)));
    TrainingPlan { workload, poll, checkpoint, requeue_after }
}

#[cfg(test)]
mod tests;
