//! The status of a job in a Pod. Pure; it has the same conditions as that of a job in the queue.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_api::job::ModelUsed;
use vmafx_api::{VmafxJob, VmafxJobStatus};
use vmafx_job::{CancelCause, ScoreResult};

use super::observe::ObservedPodJob;
use super::outcome::{PodJobOutcome, newest};
use super::plan::obstacle_deadline;
use super::snapshot::{AgentState, BatchJobSnapshot};
use super::source::TemplateProgress;
use super::waiting::running;
use crate::conditions::{ConditionState, whole_second};
use crate::job::conditions::{JobConditions, RESUME_MESSAGE, SUSPENDED_MESSAGE};
use crate::job::plan::cancel_text;
use crate::job::status::{completed, is_over, passed};
use crate::job::update::{NEXT_ATTEMPT, TOO_LATE};

/// Why there is no Kubernetes Job for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub reason: Reason,
    pub message: String,
    /// Whether it cannot be removed, so that the job has failed.
    pub is_final: bool,
}

impl Obstacle {
    /// An obstacle that a user can remove.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), is_final: false }
    }
}

/// `progress`: how far the Kubernetes Job follows the spec.
pub fn status(
    job: &VmafxJob,
    observed: &ObservedPodJob,
    progress: &TemplateProgress,
    outcome: Option<&PodJobOutcome>,
    obstacle: Option<&Obstacle>,
    now: Timestamp,
) -> VmafxJobStatus {
    let is_honoured = *progress == TemplateProgress::UpToDate;
    let before = job.status.as_ref().and_then(|status| status.observed_generation);
    let status = conditions(job, observed, progress, outcome, obstacle, now).into_status(job, now);
    let observed_generation = if is_honoured { status.observed_generation } else { before };
    let status = VmafxJobStatus { observed_generation, ..status };
    let status = with_details(status, observed);
    match outcome {
        Some(PodJobOutcome::Scored { score, at }) => {
            let status = scored(status, job, score);
            // Without a report the job would have failed. Where an earlier spec had it written is not known any more.
            let report_uri = job.spec.report_uri.clone().filter(|_| is_honoured);
            VmafxJobStatus { finished_at: Some(time(at.unwrap_or(now))), report_uri, ..status }
        }
        Some(PodJobOutcome::Failed { at, .. }) => {
            VmafxJobStatus { finished_at: Some(time(at.unwrap_or(now))), ..status }
        }
        None => VmafxJobStatus { finished_at: is_over(&status).then(|| time(now)), ..status },
    }
}

fn conditions(
    job: &VmafxJob,
    observed: &ObservedPodJob,
    progress: &TemplateProgress,
    outcome: Option<&PodJobOutcome>,
    obstacle: Option<&Obstacle>,
    now: Timestamp,
) -> JobConditions {
    let finished = ConditionState::unmet(Reason::Finished, "");
    match (outcome, obstacle) {
        (Some(outcome), _) => ended(job, accepted(observed, progress, Reason::Finished), progress, outcome),
        (None, _) if job.spec.cancel => {
            let accepted = accepted(observed, progress, Reason::Cancelled);
            JobConditions::failed(accepted, Reason::Cancelled, cancel_text(CancelCause::Requested), finished)
        }
        (None, Some(Obstacle { reason, message, is_final: true })) => {
            JobConditions::failed(ConditionState::unmet(*reason, message), *reason, message, finished)
        }
        (None, Some(Obstacle { reason, message, .. }))
            if !job.spec.suspend && obstacle_deadline(job, now).is_some_and(|deadline| deadline <= now) =>
        {
            let late =
                format!("the operator could not create the Kubernetes Job before the deadline: {message}");
            let accepted = ConditionState::unmet(*reason, message);
            JobConditions::failed(accepted, Reason::DeadlineExceeded, late, finished)
        }
        (None, Some(Obstacle { reason, message, .. })) => JobConditions::open(
            ConditionState::unmet(*reason, message),
            ConditionState::unmet(*reason, ""),
            suspended(job, observed),
        ),
        (None, None) if job.spec.suspend => JobConditions::open(
            ConditionState::unmet(Reason::Suspended, SUSPENDED_MESSAGE),
            ConditionState::unmet(Reason::Suspended, ""),
            suspended(job, observed),
        ),
        (None, None) => {
            let running = match &observed.job {
                Some(live) => running(job, live, observed),
                None => ConditionState::unmet(Reason::Reconciling, ""),
            };
            let running = match progress {
                TemplateProgress::NextAttempt => with_note(running, NEXT_ATTEMPT),
                _ => running,
            };
            let accepted = accepted(observed, progress, Reason::Reconciling);
            JobConditions::open(accepted, running, suspended(job, observed))
        }
    }
}

/// `Accepted` of a job with a Kubernetes Job; without one it has the other reason.
fn accepted(observed: &ObservedPodJob, progress: &TemplateProgress, otherwise: Reason) -> ConditionState {
    let Some(live) = &observed.job else { return ConditionState::unmet(otherwise, "") };
    let name = &live.identity.key.name;
    match progress {
        TemplateProgress::Refused(problem) => {
            let message = format!("the Kubernetes Job {name} runs it, but not its last change: {problem}");
            ConditionState::met(Reason::ChangeRefused, message)
        }
        _ => ConditionState::met(Reason::JobCreated, format!("the Kubernetes Job {name} runs it")),
    }
}

fn ended(
    job: &VmafxJob,
    accepted: ConditionState,
    progress: &TemplateProgress,
    outcome: &PodJobOutcome,
) -> JobConditions {
    let finished = ConditionState::unmet(Reason::Finished, "");
    let noted = |state| match progress {
        TemplateProgress::UpToDate => state,
        _ => with_note(state, TOO_LATE),
    };
    match outcome {
        PodJobOutcome::Scored { score, .. } => {
            JobConditions::scored(accepted, noted(completed(job, score.score)), finished)
        }
        PodJobOutcome::Failed { reason, message, .. } => {
            let failed = noted(ConditionState::met(*reason, message));
            JobConditions::failed(accepted, failed.reason, failed.message, finished)
        }
    }
}

fn with_note(mut state: ConditionState, note: &str) -> ConditionState {
    state.message = format!("{}; {note}", state.message);
    state
}

fn suspended(job: &VmafxJob, observed: &ObservedPodJob) -> ConditionState {
    let has_pods = observed.leaving > 0
        || observed.pods.iter().any(|pod| !pod.is_over())
        || observed.job.as_ref().is_some_and(|live| !live.suspended && !live.terminating);
    match (job.spec.suspend, has_pods) {
        (true, false) => ConditionState::met(Reason::Suspended, RESUME_MESSAGE),
        (true, true) => ConditionState::unmet(Reason::Draining, "its Pod is being terminated"),
        (false, _) => ConditionState::unmet(Reason::NotSuspended, ""),
    }
}

/// The status with the fields that come from Job and Pods.
fn with_details(status: VmafxJobStatus, observed: &ObservedPodJob) -> VmafxJobStatus {
    let Some(live) = &observed.job else { return status };
    let started_pod = newest(&observed.pods).filter(|pod| pod.agent != AgentState::Waiting);
    let started = started_pod.and_then(|pod| match &pod.agent {
        AgentState::Waiting => None,
        AgentState::Running { since } => *since,
        AgentState::Terminated(ended) => ended.started,
    });
    VmafxJobStatus {
        attempts: status.attempts.max(Some(attempts(live, observed))),
        assigned_node: started_pod.and_then(|pod| pod.node.clone()).or(status.assigned_node),
        started_at: started.map(time).or(status.started_at),
        ..status
    }
}

/// The watch delivers a Pod before its Job counts it, and the Job still counts a Pod that is gone. A Pod that Kubernetes
/// disrupted is no attempt.
fn attempts(live: &BatchJobSnapshot, observed: &ObservedPodJob) -> i32 {
    let started = observed.pods.iter().filter(|pod| pod.disrupted.is_none()).count();
    let started = i32::try_from(started).unwrap_or(i32::MAX).max(live.failed + live.active + live.succeeded);
    live.failed_before().saturating_add(started)
}

fn scored(status: VmafxJobStatus, job: &VmafxJob, score: &ScoreResult) -> VmafxJobStatus {
    let details = score.details.clone().unwrap_or_default();
    VmafxJobStatus {
        score: Some(score.score),
        passed: passed(job, score.score),
        frames: i64::try_from(details.frames).ok(),
        model: Some(ModelUsed {
            name: details.model,
            digest: Some(details.model_digest).filter(|digest| !digest.is_empty()),
        }),
        scores: details.scores,
        ..status
    }
}

fn time(time: Timestamp) -> Time {
    Time(whole_second(time))
}

#[cfg(test)]
mod tests;
