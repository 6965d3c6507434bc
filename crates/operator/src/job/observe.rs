//! Observes the controller's job that runs for a VmafxJob.

use std::sync::Arc;

use tokio::time::Instant;
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_proto::controller::v1::{Job, JobStatus};

use super::outage::ControllerOutage;
use super::scope::JobScope;
use super::timing::UNREACHABLE_BACKOFF;
use super::tracked::TrackedJob;

/// A reason with its message. The message contains nothing that changes by itself, because every change is a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub reason: Reason,
    pub message: String,
}

/// What the controller says about the job of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum ObservedJob {
    /// The controller was not asked since the last action.
    NotAsked,
    /// The controller did not answer, or denied the call.
    Unreachable(ControllerOutage),
    /// The controller will never accept the submission.
    Rejected(Explanation),
    /// The controller does not accept the submission until an administrator changes something.
    Refused(Explanation),
    /// The controller has no such job.
    Missing,
    Present(Arc<Job>),
}

impl ObservedJob {
    /// The status of the job at the controller.
    pub fn status(&self) -> Option<JobStatus> {
        match self {
            Self::Present(live) => Some(live.status()),
            Self::NotAsked | Self::Unreachable(_) | Self::Rejected(_) | Self::Refused(_) | Self::Missing => {
                None
            }
        }
    }
}

/// What is known without a call.
pub(super) fn observe(scope: &JobScope, job: &VmafxJob, tracked: &TrackedJob) -> ObservedJob {
    if let Some(outage) = outage(scope) {
        return ObservedJob::Unreachable(outage);
    }
    if let Some(refusal) = tracked.refusal_until_retry(job, Instant::now()) {
        return ObservedJob::Refused(refusal.clone());
    }
    let live = tracked.id.as_ref().filter(|_| scope.cache.is_live());
    let live = live.and_then(|id| scope.cache.get(id));
    live.map_or(ObservedJob::NotAsked, ObservedJob::Present)
}

/// Why the controller need not be called: a call failed a moment ago. Otherwise each of a thousand jobs would wait for
/// the timeout of its own call.
pub(super) fn outage(scope: &JobScope) -> Option<ControllerOutage> {
    scope.controller.outages().failed_within(UNREACHABLE_BACKOFF).filter(|_| !scope.cache.is_live())
}

/// Reads a job from the controller. The stream may have delivered a newer revision than the call.
pub(super) async fn get(scope: &JobScope, id: &str) -> ObservedJob {
    let observed = scope.controller.get(id).await;
    if let ObservedJob::Present(job) = &observed {
        scope.cache.put(Arc::clone(job));
        return scope.cache.get(id).map_or(observed, ObservedJob::Present);
    }
    observed
}
