//! What the status of a job with a Pod of its own says. Pure; the same shape as that of a job in the queue.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_api::job::ModelUsed;
use vmafx_api::{VmafxJob, VmafxJobStatus};
use vmafx_job::{CancelCause, ScoreResult};

use super::Found;
use super::facts::{Agent, JobFacts};
use super::outcome::{Outcome, newest};
use super::waiting::running;
use crate::conditions::{ConditionState, whole_second};
use crate::job::plan::cancel_text;
use crate::job::status::{GO_ON, HELD_BACK, Said, completed, passed};

/// What stands in the way of a Kubernetes Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// In one word.
    pub reason: Reason,
    /// In a sentence.
    pub message: String,
    /// Whether nothing can be done about it.
    pub is_final: bool,
}

impl Obstacle {
    /// One that somebody can do something about.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), is_final: false }
    }
}

/// The status.
pub fn status(
    job: &VmafxJob,
    found: &Found,
    ended: Option<&Outcome>,
    obstacle: Option<&Obstacle>,
    now: Timestamp,
) -> VmafxJobStatus {
    let said = said(job, found, ended, obstacle);
    let status = with(said.status(job, now), found);
    match ended {
        Some(Outcome::Scored { score, at }) => {
            VmafxJobStatus { finished_at: Some(time(at.unwrap_or(now))), ..scored(status, job, score) }
        }
        Some(Outcome::Failed { at, .. }) => {
            VmafxJobStatus { finished_at: Some(time(at.unwrap_or(now))), ..status }
        }
        None if job.spec.cancel || obstacle.is_some_and(|one| one.is_final) => {
            VmafxJobStatus { finished_at: Some(time(now)), ..status }
        }
        None => VmafxJobStatus { finished_at: None, ..status },
    }
}

fn said(job: &VmafxJob, found: &Found, ended: Option<&Outcome>, obstacle: Option<&Obstacle>) -> Said {
    let finished = ConditionState::unmet(Reason::Finished, "");
    let accepted = found.job.as_ref().map(|live| accepted(live));
    match (ended, obstacle) {
        (Some(Outcome::Scored { score, .. }), _) => {
            let accepted = accepted.unwrap_or_else(|| ConditionState::unmet(Reason::Finished, ""));
            Said::scored(accepted, completed(job, score.score), finished)
        }
        (Some(Outcome::Failed { reason, message, .. }), _) => {
            let accepted = accepted.unwrap_or_else(|| ConditionState::unmet(Reason::Finished, ""));
            Said::failed(accepted, *reason, message, finished)
        }
        (None, _) if job.spec.cancel => {
            let accepted = accepted.unwrap_or_else(|| ConditionState::unmet(Reason::Cancelled, ""));
            Said::failed(accepted, Reason::Cancelled, cancel_text(CancelCause::Requested), finished)
        }
        (None, Some(Obstacle { reason, message, is_final: true })) => {
            Said::failed(ConditionState::unmet(*reason, message), *reason, message, finished)
        }
        (None, Some(Obstacle { reason, message, .. })) => Said::open(
            ConditionState::unmet(*reason, message),
            ConditionState::unmet(*reason, ""),
            suspended(job, found),
        ),
        (None, None) if job.spec.suspend => Said::open(
            ConditionState::unmet(Reason::Suspended, HELD_BACK),
            ConditionState::unmet(Reason::Suspended, ""),
            suspended(job, found),
        ),
        (None, None) => {
            let running = match &found.job {
                Some(live) => running(job, live, found),
                None => ConditionState::unmet(Reason::Reconciling, ""),
            };
            let accepted = accepted.unwrap_or_else(|| ConditionState::unmet(Reason::Reconciling, ""));
            Said::open(accepted, running, suspended(job, found))
        }
    }
}

fn accepted(live: &JobFacts) -> ConditionState {
    ConditionState::met(
        Reason::JobCreated,
        format!("the Kubernetes Job {} is for it", live.identity.key.name),
    )
}

fn suspended(job: &VmafxJob, found: &Found) -> ConditionState {
    let at_work = found.leaving > 0
        || found.pods.iter().any(|pod| !pod.is_over())
        || found.job.as_ref().is_some_and(|live| !live.suspended && !live.terminating);
    match (job.spec.suspend, at_work) {
        (true, false) => ConditionState::met(Reason::Suspended, GO_ON),
        (true, true) => ConditionState::unmet(Reason::Draining, "its Pod is being taken away"),
        (false, _) => ConditionState::unmet(Reason::NotSuspended, ""),
    }
}

/// What Job and Pods add.
fn with(status: VmafxJobStatus, found: &Found) -> VmafxJobStatus {
    let Some(live) = &found.job else { return status };
    let at_work = newest(&found.pods).filter(|pod| pod.agent != Agent::Waiting);
    let started = at_work.and_then(|pod| match &pod.agent {
        Agent::Waiting => None,
        Agent::Running { since } => *since,
        Agent::Ended(ended) => ended.started,
    });
    VmafxJobStatus {
        attempts: status.attempts.max(Some(attempts(live, found))),
        assigned_node: at_work.and_then(|pod| pod.node.clone()).or(status.assigned_node),
        started_at: started.map(time).or(status.started_at),
        ..status
    }
}

/// A Pod is seen before its Job counts it, and counted after it is gone. What Kubernetes took away does not count.
fn attempts(live: &JobFacts, found: &Found) -> i32 {
    let seen = found.pods.iter().filter(|pod| pod.disrupted.is_none()).count();
    i32::try_from(seen).unwrap_or(i32::MAX).max(live.failed + live.active + live.succeeded)
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
        // The job would have failed if it could not have been written.
        report_uri: job.spec.report_uri.clone(),
        ..status
    }
}

fn time(time: Timestamp) -> Time {
    Time(whole_second(time))
}

#[cfg(test)]
mod tests;
