//! What to do next about a job, from the resource and the controller's word. Pure.
//!
//! The first row that fits counts.
//!
//! | the resource                    | the controller's job               | step                                  |
//! |---------------------------------|------------------------------------|---------------------------------------|
//! | any, no id recorded, unwanted   | not looked for                     | Find: a record may have been lost     |
//! | any                             | not asked, or no answer            | Ask                                   |
//! | is to be cancelled or suspended | waits or runs                      | Cancel                                |
//! | is wanted, no id recorded       | anything but a refusal             | Submit                                |
//! | is wanted                       | not known (any more)               | Submit in its place                   |
//! | is wanted                       | set aside, by a suspension or so   | Submit in its place                   |
//! | is wanted, with other priority  | waits                              | Cancel, to be submitted anew          |
//! | has another ground truth        | waits, runs or is scored           | Label                                 |
//! | is wanted, no id recorded       | refused for good                   | Follow                                |
//! | any                             | anything else                      | Follow                                |

use std::sync::Arc;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use vmafx_api::conditions::{JobCondition, Reason};
use vmafx_api::{ConditionStatus, VmafxJob};
use vmafx_job::CancelCause;
use vmafx_proto::controller::v1::{Job, JobStatus};
use vmafx_proto::convert::cancel_cause;

use super::{label, request};

/// The text of a cancellation in the controller's record of the job.
pub const fn cancel_text(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::Requested => "cancelled by its VmafxJob",
        CancelCause::Suspended => "suspended by its VmafxJob",
        CancelCause::Replaced => "its VmafxJob has another priority",
        CancelCause::ResourceGone => "its VmafxJob is gone",
    }
}

/// Why something is as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// In one word.
    pub reason: Reason,
    /// In words that stay while nothing changes.
    pub message: String,
}

/// What the controller says of the job that stands for the resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Remote {
    /// It was not asked yet.
    NotAsked,
    /// It does not answer, or not to us.
    Unreachable(Why),
    /// It will never take the job.
    Refused(Why),
    /// It knows no such job.
    Missing,
    /// This.
    Job(Arc<Job>),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
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
        cause: CancelCause,
    },
    /// Tell the controller what viewers say.
    Label {
        /// Of which job.
        id: String,
        /// From 0 to 100.
        value: f64,
    },
    /// Wait for news.
    Follow,
}

/// Says what to do next. `id` is that of the job that stands for the resource, as far as it is known; `refused` a ground
/// truth that the controller does not take.
pub fn next(job: &VmafxJob, id: Option<&str>, remote: &Remote, refused: Option<f64>) -> Step {
    let cause = match (job.spec.cancel, job.spec.suspend) {
        (true, _) => Some(CancelCause::Requested),
        (false, true) => Some(CancelCause::Suspended),
        (false, false) => None,
    };
    match (id, remote, cause) {
        (None, Remote::NotAsked | Remote::Unreachable(_), Some(_)) => Step::Find,
        (None, Remote::Refused(_), None) => Step::Follow,
        (None, _, None) => Step::Submit { key: request::key(job, None) },
        (Some(id), Remote::NotAsked | Remote::Unreachable(_), _) => Step::Ask { id: id.to_owned() },
        (_, Remote::Job(live), Some(cause)) if is_open(live) => Step::Cancel { id: live.id.clone(), cause },
        (Some(id), Remote::Missing, None) => Step::Submit { key: request::key(job, Some(id)) },
        (Some(id), Remote::Job(live), None) if was_set_aside(live) => {
            Step::Submit { key: request::key(job, Some(id)) }
        }
        (Some(_), Remote::Job(live), None) if is_misplaced(job, live) => {
            Step::Cancel { id: live.id.clone(), cause: CancelCause::Replaced }
        }
        (Some(_), Remote::Job(live), _) => {
            match label::missing(job, live).filter(|new| Some(*new) != refused) {
                Some(value) => Step::Label { id: live.id.clone(), value },
                None => Step::Follow,
            }
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

/// Whether the job was cancelled and its resource may still want it.
pub fn was_set_aside(live: &Job) -> bool {
    live.status() == JobStatus::Cancelled && cancel_cause(live.cancel_cause).may_be_resubmitted()
}

/// Whether the job waits at a place that its resource does not want any more. What was just submitted is not known that
/// well.
fn is_misplaced(job: &VmafxJob, live: &Job) -> bool {
    live.status() == JobStatus::Pending && live.revision > 0 && live.priority != job.spec.priority
}

/// Whether the job waits or runs.
pub fn is_open(live: &Job) -> bool {
    matches!(live.status(), JobStatus::Pending | JobStatus::Running)
}

/// When a resource that has its last word is to be deleted, if ever.
pub fn remove_at(job: &VmafxJob) -> Option<Timestamp> {
    let keep = SignedDuration::from_secs(job.spec.ttl_seconds_after_finished?.into());
    job.status.as_ref()?.finished_at.as_ref()?.0.checked_add(keep).ok()
}

#[cfg(test)]
mod tests;
