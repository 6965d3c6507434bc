//! The status of a job in a Pod. Pure; it has the same conditions as that of a job in the queue.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_api::job::ModelUsed;
use vmafx_api::{VmafxJob, VmafxJobStatus};
use vmafx_job::{CancelCause, ScoreResult};

use super::observe::ObservedPodJob;
use super::outcome::{PodJobOutcome, newest};
use super::render::request_digest;
use super::snapshot::{AgentState, BatchJobSnapshot};
use super::waiting::running;
use crate::conditions::{ConditionState, whole_second};
use crate::job::conditions::{JobConditions, RESUME_MESSAGE, SUSPENDED_MESSAGE};
use crate::job::plan::cancel_text;
use crate::job::status::{completed, passed};

/// Added to the message of a job whose spec changed after its Kubernetes Job was created.
const NOT_USED: &str = "the last change of the spec is not used, because a Kubernetes Job keeps its template; create a new VmafxJob";

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

pub fn status(
    job: &VmafxJob,
    observed: &ObservedPodJob,
    outcome: Option<&PodJobOutcome>,
    obstacle: Option<&Obstacle>,
    now: Timestamp,
) -> VmafxJobStatus {
    let is_honoured = observed.job.as_ref().is_none_or(|live| is_of_spec(live, job));
    let status = conditions(job, observed, outcome, obstacle).into_status(job, now);
    let status = if is_honoured { status } else { without_last_change(status, job) };
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
        None if job.spec.cancel || obstacle.is_some_and(|one| one.is_final) => {
            VmafxJobStatus { finished_at: Some(time(now)), ..status }
        }
        None => VmafxJobStatus { finished_at: None, ..status },
    }
}

/// Whether the template was made from the current spec, as far as it is known.
fn is_of_spec(live: &BatchJobSnapshot, job: &VmafxJob) -> bool {
    live.request.as_ref().is_none_or(|request| *request == request_digest(job))
}

/// The status of a job whose Kubernetes Job was made from an earlier spec.
fn without_last_change(status: VmafxJobStatus, job: &VmafxJob) -> VmafxJobStatus {
    let before = job.status.as_ref().and_then(|status| status.observed_generation);
    let message = status.message.into_iter().chain([NOT_USED.to_owned()]).collect::<Vec<_>>().join("; ");
    VmafxJobStatus { observed_generation: before, message: Some(message), ..status }
}

fn conditions(
    job: &VmafxJob,
    observed: &ObservedPodJob,
    outcome: Option<&PodJobOutcome>,
    obstacle: Option<&Obstacle>,
) -> JobConditions {
    let finished = ConditionState::unmet(Reason::Finished, "");
    let accepted = |otherwise: Reason| match &observed.job {
        Some(live) => {
            let message = format!("the Kubernetes Job {} runs it", live.identity.key.name);
            ConditionState::met(Reason::JobCreated, message)
        }
        None => ConditionState::unmet(otherwise, ""),
    };
    match (outcome, obstacle) {
        (Some(PodJobOutcome::Scored { score, .. }), _) => {
            JobConditions::scored(accepted(Reason::Finished), completed(job, score.score), finished)
        }
        (Some(PodJobOutcome::Failed { reason, message, .. }), _) => {
            JobConditions::failed(accepted(Reason::Finished), *reason, message, finished)
        }
        (None, _) if job.spec.cancel => {
            let message = cancel_text(CancelCause::Requested);
            JobConditions::failed(accepted(Reason::Cancelled), Reason::Cancelled, message, finished)
        }
        (None, Some(Obstacle { reason, message, is_final: true })) => {
            JobConditions::failed(ConditionState::unmet(*reason, message), *reason, message, finished)
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
            JobConditions::open(accepted(Reason::Reconciling), running, suspended(job, observed))
        }
    }
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
    i32::try_from(started).unwrap_or(i32::MAX).max(live.failed + live.active + live.succeeded)
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
