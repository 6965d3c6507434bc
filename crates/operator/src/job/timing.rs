//! When a status is written and when a job is reconciled again. Pure: the caller passes the time.
//!
//! A status that is not final is written after a debounce, because a newer one often follows. So a short job costs one
//! write, and no job more than three.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use vmafx_api::conditions::JobCondition;
use vmafx_api::{ConditionStatus, VmafxJob, VmafxJobStatus};
use vmafx_proto::controller::v1::JobStatus;

use super::observe::ObservedJob;
use super::status::is_over;
use super::tracked::{RefusedCall, TrackedJob};

/// How long the write of a status that is not final is delayed.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// How long an outage of the controller is not reported on any job: it may just be restarting, or one of several may be
/// being replaced. It is longer than the longest delay between two attempts to connect to a controller that is back.
const OUTAGE_GRACE: Duration = Duration::from_secs(15);

/// How long nothing is reported on a job whose own calls all fail, while the controller answers others.
const OWN_OUTAGE_GRACE: Duration = Duration::from_mins(1);

/// Poll interval for jobs while the live stream is disconnected, and for the reason why a job is pending.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Retry delay after a single call that failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Poll interval while the live stream is connected.
pub(super) const RESYNC_INTERVAL: Duration = Duration::from_mins(5);

/// With very many open jobs the poll interval grows, so that the controller gets at most this many calls per second.
const MAX_POLLS_PER_SECOND: u64 = 50;

/// How long after a failed call the controller counts as unreachable for all jobs.
pub(super) const UNREACHABLE_BACKOFF: Duration = Duration::from_secs(2);

/// What to do with a new status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusWrite {
    /// The resource has this status already.
    Unchanged,
    /// Write it after this time, unless a newer one follows.
    Deferred(Duration),
    Due,
}

/// The debounce counts from the first change that is not written, so that further changes do not defer the write.
pub fn status_write(
    job: &VmafxJob,
    observed: &ObservedJob,
    after: &VmafxJobStatus,
    tracked: &TrackedJob,
    now: Instant,
) -> StatusWrite {
    if job.status.as_ref() == Some(after) {
        return StatusWrite::Unchanged;
    }
    let debounced_at = tracked.behind_since.unwrap_or(now) + DEBOUNCE;
    let due_at = match observed {
        _ if is_over(after) => now,
        ObservedJob::Unreachable(outage) => {
            let own_since = tracked.unreachable_since.unwrap_or(now);
            debounced_at.max((outage.since + OUTAGE_GRACE).min(own_since + OWN_OUTAGE_GRACE))
        }
        _ => debounced_at,
    };
    match due_at.saturating_duration_since(now) {
        Duration::ZERO => StatusWrite::Due,
        left => StatusWrite::Deferred(left),
    }
}

/// Whether to ask the controller why the job is pending: not before the debounce is over, because many jobs start at
/// once, and then once per poll interval.
pub fn is_explanation_due(
    job: &VmafxJob,
    tracked: &TrackedJob,
    poll_interval: Duration,
    now: Instant,
) -> bool {
    let debounced = match tracked.behind_since {
        Some(since) => now.saturating_duration_since(since) >= DEBOUNCE,
        None => job.status.is_some(),
    };
    let asked_at = tracked.explained.as_ref().map(|(at, _)| *at);
    debounced && asked_at.is_none_or(|at| now.saturating_duration_since(at) >= poll_interval)
}

pub fn requeue_after(observed: &ObservedJob, stream_is_live: bool, poll_interval: Duration) -> Duration {
    match observed {
        ObservedJob::Present(live) if live.status() == JobStatus::Pending => poll_interval,
        ObservedJob::Present(_) if stream_is_live => RESYNC_INTERVAL,
        // The controller answers other calls.
        ObservedJob::Unreachable(_) if stream_is_live => RETRY_DELAY,
        _ => poll_interval,
    }
}

/// When a refused change is repeated.
pub fn change_recheck(refused: &RefusedCall, now: Instant) -> Duration {
    refused.retry_at.saturating_duration_since(now).max(RETRY_DELAY)
}

/// When a resource whose submission was refused is looked at again: to repeat it, and at the latest at its deadline.
pub fn refusal_recheck(job: &VmafxJob, retry_at: Option<Instant>, now: Instant, time: Timestamp) -> Duration {
    let retry = retry_at.map_or(POLL_INTERVAL, |at| at.saturating_duration_since(now));
    let left = unaccepted_deadline(job).map(|deadline| time_to_live(deadline, time));
    left.map_or(retry, |left| retry.min(left)).max(RETRY_DELAY)
}

/// When a job that is not accepted yet fails: `spec.activeDeadlineSeconds` after its creation, or after it was resumed.
pub fn unaccepted_deadline(job: &VmafxJob) -> Option<Timestamp> {
    let seconds = SignedDuration::from_secs(job.spec.active_deadline_seconds?);
    let conditions = job.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let resumed = conditions
        .iter()
        .find(|one| one.type_ == JobCondition::Suspended.as_str() && one.status == ConditionStatus::False)
        .map(|one| one.last_transition_time.0);
    let created = job.metadata.creation_timestamp.as_ref().map(|time| time.0);
    created.max(resumed)?.checked_add(seconds).ok()
}

/// How long a finished resource is still kept.
pub fn time_to_live(delete_at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(delete_at.duration_since(now)).unwrap_or_default()
}

pub fn poll_interval(open_jobs: usize) -> Duration {
    let open_jobs = u64::try_from(open_jobs).unwrap_or(u64::MAX);
    POLL_INTERVAL.max(Duration::from_secs(open_jobs / MAX_POLLS_PER_SECOND))
}

#[cfg(test)]
mod tests;
