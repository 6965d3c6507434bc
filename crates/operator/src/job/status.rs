//! The status of a VmafxJob in the controller's queue: what it says, which is pure, and the write of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{JobCondition, Reason};
use vmafx_api::job::{ModelUsed, Phase};
use vmafx_api::{ConditionStatus, VmafxJob, VmafxJobStatus};
use vmafx_job::{FailureReason, RetryClass};
use vmafx_proto::controller::v1::{FailedAttempt, Job, JobStatus};

use super::conditions::{JobConditions, RESUME_MESSAGE, SUSPENDED_MESSAGE, recorded};
use super::observe::{Explanation, ObservedJob};
use super::outage::ControllerOutage;
use super::plan::{is_open, was_set_aside};
use super::timing::unaccepted_deadline;
use super::tracked::TrackedJob;
use super::update::{NEXT_ATTEMPT, SpecProgress, TOO_LATE, progress};
use super::{CachedJob, JobReconciler, label};
use crate::conditions::{ConditionState, whole_second};
use crate::events::ResourceEvent;
use crate::runtime::ReconcileError;

/// What a status of a queued job was derived from, as far as its events need it.
pub(super) struct StatusCause<'a> {
    pub(super) observed: &'a ObservedJob,
    /// The id of a job that the controller lost.
    pub(super) forgotten: Option<&'a str>,
}

/// Writes a status that has changed, then publishes the events.
pub(super) async fn write(
    reconciler: &JobReconciler,
    job: &VmafxJob,
    after: &VmafxJobStatus,
    cause: Option<StatusCause<'_>>,
) -> Result<(), ReconcileError> {
    let Some(written) = crate::status::apply(&reconciler.client, job, after).await? else {
        // The resource is gone; the watch will deliver its deletion.
        return Ok(());
    };
    reconciler.jobs.put(CachedJob::from(written));
    let forgotten = cause.as_ref().and_then(|cause| cause.forgotten);
    let retried = cause.as_ref().and_then(|cause| match cause.observed {
        ObservedJob::Present(live) => live.last_failure.as_ref(),
        _ => None,
    });
    for event in events(job.status.as_ref(), after, forgotten, retried) {
        reconciler.recorder.publish(job, &event).await;
    }
    if let Some(phase) = after.phase.filter(|_| is_over(after)) {
        reconciler.metrics.ended(phase);
    }
    Ok(())
}

/// What the operator knows besides the observation.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusContext<'a> {
    /// Why the job is pending, if the controller was asked.
    pub explanation: Option<&'a Explanation>,
    /// Why the controller rejected a change of the spec.
    pub rejection: Option<&'a str>,
    /// Why the controller does not accept changes for now, if the job lacks one.
    pub refused_change: Option<&'a Explanation>,
}

impl<'a> StatusContext<'a> {
    pub(super) fn of(tracked: &'a TrackedJob) -> Self {
        Self {
            explanation: tracked.wait_explanation(),
            rejection: tracked.rejection(),
            refused_change: tracked.refused_change.as_ref().map(|refused| &refused.explanation),
        }
    }
}

pub fn status(
    job: &VmafxJob,
    observed: &ObservedJob,
    context: StatusContext<'_>,
    now: Timestamp,
) -> VmafxJobStatus {
    let conditions = conditions(job, observed, context, now);
    let phase = conditions.phase();
    let observed_generation = honoured_generation(job, observed, context);
    let status = VmafxJobStatus { observed_generation, ..conditions.into_status(job, now) };
    match observed {
        ObservedJob::Present(live) => with_details(status, job, live, phase),
        _ if is_over(&status) => VmafxJobStatus { finished_at: Some(Time(whole_second(now))), ..status },
        _ => status,
    }
}

/// The newest generation of the spec that the controller's job follows: the one before, if the newest has not reached the
/// controller, was rejected or refused, waits for the next attempt, which may never come, or came too late.
fn honoured_generation(job: &VmafxJob, observed: &ObservedJob, context: StatusContext<'_>) -> Option<i64> {
    let honoured = match observed {
        ObservedJob::Present(live) => {
            progress(job, live) == SpecProgress::UpToDate && context.refused_change.is_none()
        }
        ObservedJob::Rejected(_) | ObservedJob::Refused(_) => true,
        ObservedJob::Missing => job.spec.cancel || job.spec.suspend,
        ObservedJob::NotAsked | ObservedJob::Unreachable(_) => false,
    };
    let before = job.status.as_ref().and_then(|status| status.observed_generation);
    if honoured { job.metadata.generation } else { before }
}

/// The status with the fields that come from the controller's job.
fn with_details(status: VmafxJobStatus, job: &VmafxJob, live: &Job, phase: Phase) -> VmafxJobStatus {
    let details = live.result.as_ref();
    let score = (phase == Phase::Succeeded).then_some(live.final_score);
    VmafxJobStatus {
        controller_job_id: Some(live.id.clone()),
        assigned_node: Some(live.assigned_node.clone()).filter(|name| !name.is_empty()),
        attempts: i32::try_from(live.attempt).ok(),
        started_at: time(live.started_at_ms),
        finished_at: time(live.finished_at_ms).filter(|_| phase != Phase::Pending),
        score,
        passed: score.and_then(|score| passed(job, score)),
        frames: details.and_then(|details| i64::try_from(details.frames).ok()),
        model: details.filter(|details| !details.model.is_empty()).map(|details| ModelUsed {
            name: details.model.clone(),
            digest: Some(details.model_digest.clone()).filter(|digest| !digest.is_empty()),
        }),
        scores: details.and_then(|details| details.scores).map(Into::into),
        ground_truth: label::of(live).filter(|_| phase == Phase::Succeeded),
        report_uri: details.map(|details| details.report_uri.clone()).filter(|uri| !uri.is_empty()),
        ..status
    }
}

fn conditions(
    job: &VmafxJob,
    observed: &ObservedJob,
    context: StatusContext<'_>,
    now: Timestamp,
) -> JobConditions {
    let suspended = suspended(job, observed);
    let no = |reason, message: &str| ConditionState::unmet(reason, message);
    let is_suspended = job.spec.suspend && !job.spec.cancel;
    if let Some(Explanation { reason, message }) = refusal(job, observed)
        && !is_suspended
        && unaccepted_deadline(job).is_some_and(|deadline| deadline <= now)
    {
        let late = format!("the controller did not accept the job before its deadline: {message}");
        return JobConditions::failed(no(reason, &message), Reason::DeadlineExceeded, late, suspended);
    }
    match observed {
        ObservedJob::Present(live) => live_conditions(job, live, context, suspended),
        ObservedJob::Missing if job.spec.cancel => {
            let message = "the job was cancelled before it was submitted to the controller";
            JobConditions::failed(no(Reason::Cancelled, ""), Reason::Cancelled, message, suspended)
        }
        ObservedJob::Rejected(Explanation { reason, message }) => {
            JobConditions::failed(no(*reason, message), *reason, message, suspended)
        }
        ObservedJob::Refused(Explanation { reason, message }) if !is_suspended => {
            JobConditions::open(no(*reason, message), no(*reason, ""), suspended)
        }
        // During an outage the last observed state is still the best that is known.
        ObservedJob::Unreachable(ControllerOutage {
            explanation: Explanation { reason, message }, ..
        }) if was_submitted(job) => {
            let running = recorded_condition(job, JobCondition::Running);
            let running = running.unwrap_or_else(|| no(*reason, ""));
            JobConditions::open(ConditionState::met(*reason, message), running, suspended)
        }
        ObservedJob::Unreachable(ControllerOutage {
            explanation: Explanation { reason, message }, ..
        }) => JobConditions::open(no(*reason, message), no(*reason, ""), suspended),
        _ if is_suspended => JobConditions::open(
            no(Reason::Suspended, SUSPENDED_MESSAGE),
            no(Reason::Suspended, ""),
            suspended,
        ),
        ObservedJob::Missing => {
            let message = "the controller no longer has the job; it is being submitted again";
            JobConditions::open(no(Reason::Forgotten, message), no(Reason::Forgotten, ""), suspended)
        }
        ObservedJob::NotAsked | ObservedJob::Refused(_) => {
            JobConditions::open(no(Reason::Reconciling, ""), no(Reason::Reconciling, ""), suspended)
        }
    }
}

fn live_conditions(
    job: &VmafxJob,
    live: &Job,
    context: StatusContext<'_>,
    suspended: ConditionState,
) -> JobConditions {
    let progress = progress(job, live);
    let lacks_change = |reason, problem: &str| {
        let message = format!("the controller has the job, but not its last change: {problem}");
        ConditionState::met(reason, message)
    };
    let accepted = match (&progress, context.rejection, context.refused_change) {
        (_, _, Some(Explanation { reason, message })) if is_open(live) => lacks_change(*reason, message),
        (SpecProgress::Behind(_), Some(problem), _) => lacks_change(Reason::ChangeRefused, problem),
        _ => ConditionState::met(Reason::Submitted, "the controller has the job"),
    };
    let with_note = |message: String| match progress {
        SpecProgress::NextAttempt => format!("{message}; {NEXT_ATTEMPT}"),
        SpecProgress::TooLate => format!("{message}; {TOO_LATE}"),
        SpecProgress::UpToDate | SpecProgress::Behind(_) => message,
    };
    match live.status() {
        JobStatus::Completed => {
            let complete = completed(job, live.final_score);
            let complete = ConditionState { message: with_note(complete.message), ..complete };
            JobConditions::scored(accepted, complete, suspended)
        }
        JobStatus::Failed => {
            let reason = failure(FailureReason::from_number(live.failure_reason));
            JobConditions::failed(accepted, reason, with_note(live.error.clone()), suspended)
        }
        JobStatus::Cancelled if was_set_aside(live) && !job.spec.cancel => JobConditions::open(
            ConditionState::unmet(Reason::Suspended, SUSPENDED_MESSAGE),
            ConditionState::unmet(Reason::Suspended, ""),
            suspended,
        ),
        JobStatus::Cancelled => {
            JobConditions::failed(accepted, Reason::Cancelled, with_note(live.error.clone()), suspended)
        }
        JobStatus::Running => {
            let message = match live.assigned_node.as_str() {
                "" => "a node is scoring the clips".to_owned(),
                node => format!("node {node} is scoring the clips"),
            };
            JobConditions::open(accepted, ConditionState::met(Reason::Scoring, with_note(message)), suspended)
        }
        JobStatus::Pending => {
            JobConditions::open(accepted, pending(job, live, context.explanation), suspended)
        }
    }
}

/// `Running` of a pending job: why its last attempt failed, as the controller explained it, or as it was recorded before.
fn pending(job: &VmafxJob, live: &Job, explanation: Option<&Explanation>) -> ConditionState {
    const PENDING: &[Reason] =
        &[Reason::WaitingForSlot, Reason::NoMatchingNode, Reason::NodesQuarantined, Reason::BackingOff];
    match (explanation, &live.last_failure) {
        (None | Some(Explanation { reason: Reason::BackingOff, .. }), Some(failure)) => {
            ConditionState::unmet(Reason::BackingOff, retry_message(live, failure))
        }
        (Some(Explanation { reason, message }), _) => ConditionState::unmet(*reason, message),
        (None, None) => recorded_condition(job, JobCondition::Running)
            .filter(|one| one.status == ConditionStatus::False && PENDING.contains(&one.reason))
            .unwrap_or_else(|| {
                ConditionState::unmet(Reason::WaitingForSlot, "the job is waiting for a node")
            }),
    }
}

/// Names the time of the next attempt and not how far away it is, which would change by itself.
fn retry_message(live: &Job, failure: &FailedAttempt) -> String {
    let FailedAttempt { attempt, node, message, .. } = failure;
    let next = Timestamp::from_millisecond(live.available_at_ms).ok().filter(|_| live.available_at_ms != 0);
    let next = next.map(|at| format!("; the next attempt starts after {at:.0}")).unwrap_or_default();
    format!("attempt {attempt} failed on {node}: {message}{next}")
}

/// Why the controller does not accept the job, if an administrator can change that.
fn refusal(job: &VmafxJob, observed: &ObservedJob) -> Option<Explanation> {
    match observed {
        ObservedJob::Refused(refusal) => Some(refusal.clone()),
        ObservedJob::Unreachable(ControllerOutage { explanation, .. })
            if explanation.reason == Reason::Forbidden && !was_submitted(job) =>
        {
            Some(explanation.clone())
        }
        _ => None,
    }
}

fn recorded_condition(job: &VmafxJob, type_: JobCondition) -> Option<ConditionState> {
    recorded(job.status.as_ref()?, type_)
}

fn was_submitted(job: &VmafxJob) -> bool {
    job.status.as_ref().is_some_and(|status| status.controller_job_id.is_some())
}

/// `Complete` of a job that has a score.
pub(super) fn completed(job: &VmafxJob, score: f64) -> ConditionState {
    match job.spec.min_score {
        Some(minimum) if score < minimum => {
            let message = format!("the score is {score:.3}, below spec.minScore {minimum}");
            ConditionState::met(Reason::BelowMinScore, message)
        }
        _ => ConditionState::met(Reason::Scored, format!("the score is {score:.3}")),
    }
}

/// Whether the score reaches `spec.minScore`, if that is set.
pub(super) fn passed(job: &VmafxJob, score: f64) -> Option<bool> {
    job.spec.min_score.map(|minimum| score >= minimum)
}

fn suspended(job: &VmafxJob, observed: &ObservedJob) -> ConditionState {
    let is_queued = match observed {
        ObservedJob::Present(live) => match live.status() {
            JobStatus::Pending | JobStatus::Running => true,
            JobStatus::Cancelled => !was_set_aside(live),
            JobStatus::Completed | JobStatus::Failed => return ConditionState::unmet(Reason::Finished, ""),
        },
        // A submitted job may still be queued.
        ObservedJob::NotAsked | ObservedJob::Unreachable(_) => was_submitted(job),
        ObservedJob::Rejected(_) | ObservedJob::Refused(_) | ObservedJob::Missing => false,
    };
    match (job.spec.suspend, is_queued) {
        (true, false) => ConditionState::met(Reason::Suspended, RESUME_MESSAGE),
        (true, true) => ConditionState::unmet(Reason::Draining, "the job is being removed from the queue"),
        (false, _) => ConditionState::unmet(Reason::NotSuspended, ""),
    }
}

/// Whether a status is final.
pub fn is_over(status: &VmafxJobStatus) -> bool {
    status.phase.is_some_and(Phase::is_last)
}

/// Events for the transitions between two statuses. Success has none, because an event for each step of each job would
/// double the writes.
fn events(
    before: Option<&VmafxJobStatus>,
    after: &VmafxJobStatus,
    forgotten: Option<&str>,
    retried: Option<&FailedAttempt>,
) -> Vec<ResourceEvent> {
    let is_suspended = |status: &VmafxJobStatus| {
        let mut conditions = status.conditions.iter();
        conditions
            .any(|one| one.type_ == JobCondition::Suspended.as_str() && one.status == ConditionStatus::True)
    };
    let failed = recorded(after, JobCondition::Failed).filter(|one| one.status == ConditionStatus::True);
    let failed = failed.map(|failed| match failed.reason {
        Reason::Cancelled => ResourceEvent::normal(failed.reason, failed.message),
        reason => ResourceEvent::warning(reason, failed.message),
    });
    let suspended = match (before.is_some_and(is_suspended), is_suspended(after)) {
        (true, false) => Some(ResourceEvent::normal(Reason::Resumed, "the job was resumed")),
        (false, true) => Some(ResourceEvent::normal(Reason::Suspended, "the job was suspended")),
        _ => None,
    };
    let forgotten = forgotten.map(|id| {
        let note = format!("the controller no longer has job {id}; the job was submitted again");
        ResourceEvent::warning(Reason::Forgotten, note)
    });
    let retried = retried.filter(|_| backing_off(after).is_some());
    let retried = retried.filter(|_| before.and_then(backing_off) != backing_off(after));
    let retried = retried.map(|FailedAttempt { attempt, node, message, .. }| {
        let note = format!("attempt {attempt} failed on {node}, and the job was requeued: {message}");
        ResourceEvent::warning(Reason::AttemptFailed, note)
    });
    let refused =
        refused(after).filter(|new| before.and_then(refused).map(|old| old.reason) != Some(new.reason));
    let refused = refused.map(|new| ResourceEvent::warning(new.reason, new.message));
    [failed, suspended, forgotten, retried, refused].into_iter().flatten().collect()
}

/// The attempt after which a job backs off, if it does.
fn backing_off(status: &VmafxJobStatus) -> Option<i32> {
    let running = recorded(status, JobCondition::Running)?;
    (running.status == ConditionStatus::False && running.reason == Reason::BackingOff)
        .then_some(status.attempts.unwrap_or(0))
}

/// `Accepted` of an open job that the controller refuses.
fn refused(status: &VmafxJobStatus) -> Option<ConditionState> {
    let accepted = recorded(status, JobCondition::Accepted)?;
    let refusals = [Reason::InputRefused, Reason::QuotaExceeded, Reason::StoreFull, Reason::Forbidden];
    (!is_over(status) && accepted.status == ConditionStatus::False && refusals.contains(&accepted.reason))
        .then_some(accepted)
}

/// The reason of a job that has no score.
pub(super) fn failure(reason: FailureReason) -> Reason {
    match reason {
        FailureReason::InputDenied | FailureReason::InputDeniedOnNode => Reason::InputRefused,
        FailureReason::InputNotFound
        | FailureReason::InputMissingOnNode
        | FailureReason::SourceUnreachable => Reason::InputUnavailable,
        FailureReason::DeadlineExceeded => Reason::DeadlineExceeded,
        reason if reason.retry_class() == RetryClass::Node => Reason::AttemptsExhausted,
        _ => Reason::ScoringFailed,
    }
}

fn time(milliseconds: i64) -> Option<Time> {
    let time = Timestamp::from_millisecond(milliseconds).ok().filter(|_| milliseconds != 0)?;
    Some(Time(whole_second(time)))
}

#[cfg(test)]
mod tests;
