//! Changes of a resource after its submission. Pure.
//!
//! The controller's job is compared with its resource, field by field in the domain types, so that two spellings of one
//! request are no change. A pending job changes at once. The scoring of a running job changes with its next attempt, and
//! everything else at once. A job that has ended stays as it is: the change came too late.

use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_job::ScoringRequest;
use vmafx_proto::controller::v1::{Job, ScoringParams, UpdateJobRequest};

use super::plan::{is_open, was_set_aside};
use super::request;
use crate::events::ResourceEvent;

/// Added to the message of a running job.
pub(super) const NEXT_ATTEMPT: &str = "the changed spec takes effect at the next attempt";

/// Added to the message of a job that has ended.
pub(super) const TOO_LATE: &str = "the last change of the spec came too late and was not used";

/// How far the controller's job follows the spec of its resource.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecProgress {
    UpToDate,
    /// The running attempt uses the request before the change.
    NextAttempt,
    /// The controller's job has to be changed by this request.
    Behind(Box<UpdateJobRequest>),
    /// The job ended before the change.
    TooLate,
}

/// A job that was just submitted is as its resource demands, although nothing else is known of it: its revision is 0.
pub fn progress(job: &VmafxJob, live: &Job) -> SpecProgress {
    if live.revision == 0 || was_set_aside(live) {
        return SpecProgress::UpToDate;
    }
    let desired = request::changes(job, &live.id);
    match (is_open(live), is_as_desired(&desired, live)) {
        (true, false) => SpecProgress::Behind(Box::new(desired)),
        (true, true) if live.next_scoring.is_some() => SpecProgress::NextAttempt,
        (false, false) => SpecProgress::TooLate,
        (_, true) => SpecProgress::UpToDate,
    }
}

fn is_as_desired(desired: &UpdateJobRequest, live: &Job) -> bool {
    let current = live.next_scoring.as_ref().filter(|_| is_open(live)).or(live.scoring.as_ref());
    let deadline = match live.deadline_at_ms {
        0 => 0,
        // The deadline is the creation time, which is given in whole seconds, and whole seconds after it.
        at => u64::try_from(at.div_euclid(1000).saturating_sub(live.created_at)).unwrap_or_default(),
    };
    desired.priority == Some(live.priority)
        && desired.max_lost_attempts == Some(live.max_lost_attempts)
        && desired.active_deadline_seconds == Some(deadline)
        && desired.scoring.as_ref().zip(current).is_none_or(|(desired, current)| is_same(desired, current))
}

/// A request that a newer controller spells in an unknown way cannot be compared, and is left as it is.
fn is_same(desired: &ScoringParams, current: &ScoringParams) -> bool {
    let parse = |params: &ScoringParams| ScoringRequest::try_from(params.clone());
    match (parse(desired), parse(current)) {
        (Ok(desired), Ok(current)) => desired == current,
        _ => true,
    }
}

pub fn rejection_event(message: &str) -> ResourceEvent {
    ResourceEvent::warning(Reason::ChangeRefused, format!("the changed spec is not used: {message}"))
}

#[cfg(test)]
mod tests;
