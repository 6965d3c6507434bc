//! What to do next about a job, from the resource and the controller's word. Pure.
//!
//! The first row that fits counts.
//!
//! | the resource                    | the controller's job               | step                                  |
//! |---------------------------------|------------------------------------|---------------------------------------|
//! | is final                        | any                                | Rest, or Remove when its time is over |
//! | any, no id recorded, unwanted   | not looked for                     | Find: a record may have been lost     |
//! | any                             | not asked, or no answer            | Ask                                   |
//! | is to be cancelled or suspended | waits or runs                      | Cancel                                |
//! | is wanted, no id recorded       |                                    | Submit                                |
//! | is wanted                       | not known (any more)               | Submit in its place                   |
//! | is wanted                       | given up by an earlier suspension  | Submit in its place                   |
//! | any                             | anything else                      | Follow                                |

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::JobCondition;
use vmafx_api::{ConditionStatus, VmafxJob};
use vmafx_proto::controller::v1::{Job, JobStatus};

use super::request;

/// By this word the controller's record of a cancelled job says that it was only held back.
pub const SUSPENDED: &str = "suspended by its VmafxJob";

/// By this that it was given up.
pub const CANCELLED: &str = "cancelled by its VmafxJob";

/// What the controller says of the job that the status records.
#[derive(Clone, Debug, PartialEq)]
pub enum Remote {
    /// It was not asked yet.
    NotAsked,
    /// It does not answer; why, in words that stay.
    Unreachable(String),
    /// It knows no such job.
    Missing,
    /// This.
    Job(Box<Job>),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing, ever again, or until then.
    Rest(Option<Duration>),
    /// Delete the resource: its time after the end is over.
    Remove,
    /// Look for a job of this resource whose record was lost.
    Find,
    /// Ask for the recorded job.
    Ask {
        /// Its id.
        id: String,
    },
    /// Hand the job over.
    Submit {
        /// Makes a repetition harmless.
        key: String,
    },
    /// End the job at the controller.
    Cancel {
        /// Its id.
        id: String,
        /// Why.
        reason: &'static str,
    },
    /// Wait for news.
    Follow,
}

/// Says what to do next.
pub fn next(job: &VmafxJob, remote: &Remote, now: Timestamp) -> Step {
    if is_final(job) {
        return rest(job, now);
    }
    let id = recorded(job);
    let reason = match (job.spec.cancel, job.spec.suspend) {
        (true, _) => Some(CANCELLED),
        (false, true) => Some(SUSPENDED),
        (false, false) => None,
    };
    match (id, remote, reason) {
        (None, Remote::NotAsked | Remote::Unreachable(_), Some(_)) => Step::Find,
        (None, _, None) => Step::Submit { key: request::key(job, None) },
        (Some(id), Remote::NotAsked | Remote::Unreachable(_), _) => Step::Ask { id: id.to_owned() },
        (_, Remote::Job(live), Some(reason)) if is_open(live) => Step::Cancel { id: live.id.clone(), reason },
        (Some(id), Remote::Missing, None) => Step::Submit { key: request::key(job, Some(id)) },
        (Some(id), Remote::Job(live), None) if was_held_back(live) => {
            Step::Submit { key: request::key(job, Some(id)) }
        }
        _ => Step::Follow,
    }
}

/// Whether the resource has its last word.
pub fn is_final(job: &VmafxJob) -> bool {
    let conditions = job.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().any(|one| {
        one.status == ConditionStatus::True
            && [JobCondition::Complete, JobCondition::Failed].iter().any(|last| one.type_ == last.as_str())
    })
}

/// Whether the job was cancelled only because its resource was suspended.
pub fn was_held_back(live: &Job) -> bool {
    live.status() == JobStatus::Cancelled && live.error.contains(SUSPENDED)
}

/// Whether the job waits or runs.
fn is_open(live: &Job) -> bool {
    matches!(live.status(), JobStatus::Pending | JobStatus::Running)
}

fn recorded(job: &VmafxJob) -> Option<&str> {
    job.status.as_ref()?.controller_job_id.as_deref()
}

/// After the end: until the resource is to go, if it is.
fn rest(job: &VmafxJob, now: Timestamp) -> Step {
    let ended = job.status.as_ref().and_then(|status| status.finished_at.as_ref()).map(|time| time.0);
    let keep = job.spec.ttl_seconds_after_finished.and_then(|seconds| u64::try_from(seconds).ok());
    let (Some(ended), Some(keep)) = (ended, keep) else { return Step::Rest(None) };
    let age = Duration::try_from(now.duration_since(ended)).unwrap_or_default();
    match Duration::from_secs(keep).checked_sub(age) {
        Some(left) if !left.is_zero() => Step::Rest(Some(left)),
        _ => Step::Remove,
    }
}


#[cfg(test)]
mod tests;
