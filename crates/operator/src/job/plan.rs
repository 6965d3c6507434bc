//! The next action for a VmafxJob in the controller's queue, and why. Pure.
//!
//! The first row that fits counts. The guarding test of each row is a case of `every_row_of_the_table`, named in the last
//! column.
//!
//! | the resource                 | the controller's job             | decision                      | guarding test              |
//! |------------------------------|----------------------------------|-------------------------------|----------------------------|
//! | any                          | controller unreachable           | Wait                          | `down`                     |
//! | unwanted, no id recorded     | not asked                        | Find: a record may be lost    | `suspended_before`         |
//! | wanted, no id recorded       | not asked, older than our term   | Find: a record may be lost    | `new_to_this_operator`     |
//! | wanted, no id recorded       | submission rejected or refused   | Wait                          | `rejected`, `refused`      |
//! | wanted, no id recorded       | anything else                    | Submit                        | `new`                      |
//! | any                          | not asked                        | Get                           | `not_asked`                |
//! | wanted                       | missing                          | Submit a replacement          | `forgotten`                |
//! | wanted                       | cancelled, may be resubmitted    | Submit a replacement          | `resumed`, `taken_out`     |
//! | unwanted                     | pending or running               | Cancel, or put it off         | `cancel`, `suspended_…`    |
//! | wanted, with another spec    | pending or running               | Update, unless just rejected, or put it off | `changed_…`  |
//! | with another ground truth    | pending, running or scored       | Label, or put it off          | `labelled_later`           |
//! | any                          | pending, wait reason is outdated | Explain                       | `waits_unexplained`        |
//! | any                          | anything else                    | Wait                          | `runs`, `scored`, …        |
//!
//! A resource is unwanted if `spec.cancel` or `spec.suspend` is set, otherwise wanted. A change is put off for a while after the
//! controller refused one for a reason that an administrator can lift: `a_refused_change_is_repeated_after_a_while`.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use vmafx_api::conditions::JobCondition;
use vmafx_api::{Condition, ConditionStatus, VmafxJob};
use vmafx_job::CancelCause;
use vmafx_proto::controller::v1::{Job, JobStatus, UpdateJobRequest};
use vmafx_proto::convert::cancel_cause;

use super::observe::ObservedJob;
use super::timing::is_explanation_due;
use super::tracked::TrackedJob;
use super::update::SpecProgress;
use super::{label, request, update};

#[derive(Clone, Debug, PartialEq)]
pub struct JobPlan {
    pub action: JobAction,
    pub reason: PlanReason,
}

/// One call to the controller, or none.
#[derive(Clone, Debug, PartialEq)]
pub enum JobAction {
    /// Search for a job of this resource whose id was not recorded.
    Find,
    /// Read the recorded job.
    Get {
        id: String,
    },
    /// `idempotency_key` makes a repetition harmless; `forgotten` is the job that the controller lost.
    Submit {
        idempotency_key: String,
        forgotten: Option<String>,
    },
    Cancel {
        id: String,
        cause: CancelCause,
    },
    /// Change the job to what its resource demands.
    Update(Box<UpdateJobRequest>),
    /// Send the ground truth, from 0 to 100.
    Label {
        id: String,
        value: f64,
    },
    /// Ask why the job is pending.
    Explain {
        id: String,
    },
    /// Nothing, until something changes.
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanReason {
    ControllerUnreachable,
    RecordMayBeLost,
    Rejected,
    NotSubmitted,
    NotAsked,
    CancelRequested,
    SuspendRequested,
    /// The controller lost the job.
    Forgotten,
    /// The job was cancelled for a suspension, or by an older operator for another priority.
    SetAside,
    SpecChanged,
    GroundTruthChanged,
    /// The controller refused a change a moment ago, and may accept it later.
    ChangePutOff,
    /// The controller was not asked lately why the job is pending.
    ExplanationOutdated,
    UpToDate,
}

/// `now` and `poll_interval` decide whether the controller is asked again why the job is pending.
pub fn plan(
    job: &VmafxJob,
    tracked: &TrackedJob,
    observed: &ObservedJob,
    poll_interval: Duration,
    now: Instant,
) -> JobPlan {
    let unwanted = match (job.spec.cancel, job.spec.suspend) {
        (true, _) => Some((CancelCause::Requested, PlanReason::CancelRequested)),
        (false, true) => Some((CancelCause::Suspended, PlanReason::SuspendRequested)),
        (false, false) => None,
    };
    let submit = |replaces: Option<&str>, forgotten: Option<&str>| JobAction::Submit {
        idempotency_key: request::key(job, replaces),
        forgotten: forgotten.map(str::to_owned),
    };
    let (action, reason) = match (tracked.id.as_deref(), observed, unwanted) {
        (_, ObservedJob::Unreachable(_), _) => (JobAction::Wait, PlanReason::ControllerUnreachable),
        (None, ObservedJob::NotAsked, Some(_)) => (JobAction::Find, PlanReason::RecordMayBeLost),
        (None, ObservedJob::NotAsked, None) if tracked.may_be_submitted => {
            (JobAction::Find, PlanReason::RecordMayBeLost)
        }
        (None, ObservedJob::Rejected(_) | ObservedJob::Refused(_), None) => {
            (JobAction::Wait, PlanReason::Rejected)
        }
        (None, _, None) => (submit(None, None), PlanReason::NotSubmitted),
        (Some(id), ObservedJob::NotAsked, _) => (JobAction::Get { id: id.to_owned() }, PlanReason::NotAsked),
        (Some(id), ObservedJob::Missing, None) => (submit(Some(id), Some(id)), PlanReason::Forgotten),
        (Some(id), ObservedJob::Present(live), None) if was_set_aside(live) => {
            (submit(Some(id), None), PlanReason::SetAside)
        }
        (_, ObservedJob::Present(live), _) => {
            let change = change(job, tracked, live, unwanted, now);
            let is_put_off = change.is_some() && tracked.is_change_put_off(job, now);
            match change.filter(|_| !is_put_off) {
                Some(change) => change,
                None if live.status() == JobStatus::Pending
                    && is_explanation_due(job, tracked, poll_interval, now) =>
                {
                    (JobAction::Explain { id: live.id.clone() }, PlanReason::ExplanationOutdated)
                }
                None if is_put_off => (JobAction::Wait, PlanReason::ChangePutOff),
                None => (JobAction::Wait, PlanReason::UpToDate),
            }
        }
        _ => (JobAction::Wait, PlanReason::UpToDate),
    };
    JobPlan { action, reason }
}

/// The next change that the controller's job lacks.
fn change(
    job: &VmafxJob,
    tracked: &TrackedJob,
    live: &Job,
    unwanted: Option<(CancelCause, PlanReason)>,
    now: Instant,
) -> Option<(JobAction, PlanReason)> {
    let id = live.id.clone();
    if let Some((cause, reason)) = unwanted.filter(|_| is_open(live)) {
        return Some((JobAction::Cancel { id, cause }, reason));
    }
    if let SpecProgress::Behind(update) = update::progress(job, live)
        && !tracked.was_rejected(&update, now)
    {
        return Some((JobAction::Update(update), PlanReason::SpecChanged));
    }
    let missing = label::missing(job, live).filter(|new| Some(*new) != tracked.rejected_label);
    missing.map(|value| (JobAction::Label { id, value }, PlanReason::GroundTruthChanged))
}

/// The text of a cancellation in the controller's record of the job.
pub const fn cancel_text(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::Requested => "cancelled by its VmafxJob",
        CancelCause::Suspended => "suspended by its VmafxJob",
        CancelCause::Replaced => "its VmafxJob has another priority",
        CancelCause::ResourceGone => "its VmafxJob is gone",
    }
}

/// Whether the status of the resource is final: it never changes again.
pub fn is_final(job: &VmafxJob) -> bool {
    end(job).is_some()
}

/// Whether the job was cancelled for a reason that lets its resource submit it again.
pub fn was_set_aside(live: &Job) -> bool {
    live.status() == JobStatus::Cancelled && cancel_cause(live.cancel_cause).may_be_resubmitted()
}

/// Whether the job is pending or running.
pub fn is_open(live: &Job) -> bool {
    matches!(live.status(), JobStatus::Pending | JobStatus::Running)
}

/// When a finished resource is to be deleted, if ever. The time to live counts from the transition of the condition, which
/// the operator wrote by its own clock when it observed the end: `status.finishedAt` is by the controller's clock, which may
/// be hours behind.
pub fn delete_at(job: &VmafxJob) -> Option<Timestamp> {
    let keep = SignedDuration::from_secs(job.spec.ttl_seconds_after_finished?.into());
    end(job)?.last_transition_time.0.checked_add(keep).ok()
}

/// The condition that makes the status final.
fn end(job: &VmafxJob) -> Option<&Condition> {
    let mut conditions = job.status.as_ref()?.conditions.iter();
    conditions.find(|one| {
        one.status == ConditionStatus::True
            && [JobCondition::Complete, JobCondition::Failed].iter().any(|last| one.type_ == last.as_str())
    })
}

#[cfg(test)]
mod tests;
