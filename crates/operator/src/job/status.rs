//! What the status of a job says, from the resource and the controller's word. Pure: one mapping for all that can be.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{JobCondition, Reason};
use vmafx_api::job::{ModelUsed, Phase};
use vmafx_api::{Condition, ConditionStatus, VmafxJob, VmafxJobStatus};
use vmafx_job::FailureReason;
use vmafx_proto::controller::v1::{Job, JobStatus};

use super::label;
use super::plan::{Remote, Why, was_set_aside};
use crate::conditions::{ConditionState, whole_second};
use crate::events::ResourceEvent;

/// Of a job whose resource is suspended.
pub(super) const HELD_BACK: &str = "the job is held back";

/// What to do about that.
pub(super) const GO_ON: &str = "set spec.suspend to false to go on";

/// The five statements about a job.
pub(super) struct Said {
    pub(super) accepted: ConditionState,
    pub(super) running: ConditionState,
    pub(super) complete: ConditionState,
    pub(super) failed: ConditionState,
    pub(super) suspended: ConditionState,
}

impl Said {
    /// Of a job that has not ended.
    pub(super) fn open(accepted: ConditionState, running: ConditionState, suspended: ConditionState) -> Self {
        let (complete, failed) =
            (ConditionState::unmet(Reason::Unfinished, ""), ConditionState::unmet(Reason::Unfinished, ""));
        Self { accepted, running, complete, failed, suspended }
    }

    /// Of one that has, with a score.
    pub(super) fn scored(
        accepted: ConditionState,
        complete: ConditionState,
        suspended: ConditionState,
    ) -> Self {
        let (running, failed) =
            (ConditionState::unmet(Reason::Finished, ""), ConditionState::unmet(Reason::Scored, ""));
        Self { accepted, running, complete, failed, suspended }
    }

    /// Of one that has, without.
    pub(super) fn failed(
        accepted: ConditionState,
        reason: Reason,
        message: impl Into<String>,
        suspended: ConditionState,
    ) -> Self {
        let (running, complete) =
            (ConditionState::unmet(Reason::Finished, ""), ConditionState::unmet(reason, ""));
        Self { accepted, running, complete, failed: ConditionState::met(reason, message), suspended }
    }

    /// Where the job stands, derived from the conditions, never the other way round.
    pub(super) fn phase(&self) -> Phase {
        let holds = |statement: &ConditionState| statement.status == ConditionStatus::True;
        if holds(&self.complete) {
            Phase::Succeeded
        } else if holds(&self.failed) && self.failed.reason == Reason::Cancelled {
            Phase::Cancelled
        } else if holds(&self.failed) {
            Phase::Failed
        } else if holds(&self.running) {
            Phase::Running
        } else {
            Phase::Pending
        }
    }

    /// What people want to read first.
    fn first(&self) -> JobCondition {
        let holds = |statement: &ConditionState| statement.status == ConditionStatus::True;
        match self {
            _ if holds(&self.complete) => JobCondition::Complete,
            _ if holds(&self.failed) => JobCondition::Failed,
            _ if holds(&self.suspended) => JobCondition::Suspended,
            // Of what was accepted and cannot be asked for any more, that is the news.
            _ if is_away(self.accepted.reason) => JobCondition::Accepted,
            _ if holds(&self.accepted) => JobCondition::Running,
            _ => JobCondition::Accepted,
        }
    }

    /// The status that says so; what else it has said stays.
    pub(super) fn status(self, job: &VmafxJob, now: Timestamp) -> VmafxJobStatus {
        let before = job.status.clone().unwrap_or_default();
        let generation = job.metadata.generation;
        let (phase, first) = (self.phase(), self.first());
        let all = [
            (JobCondition::Accepted, self.accepted),
            (JobCondition::Running, self.running),
            (JobCondition::Complete, self.complete),
            (JobCondition::Failed, self.failed),
            (JobCondition::Suspended, self.suspended),
        ];
        let settle = |(type_, one)| settled(one, type_, &before.conditions, generation, now);
        let conditions: Vec<_> = all.into_iter().map(settle).collect();
        let words = conditions.iter().find(|one| one.type_ == first.as_str());
        VmafxJobStatus {
            phase: Some(phase),
            message: words.map(|one| one.message.clone()).filter(|text| !text.is_empty()),
            observed_generation: generation,
            conditions,
            ..before
        }
    }
}

/// The status of a job. `waiting` is why it waits, if the controller was asked.
pub fn status(job: &VmafxJob, remote: &Remote, waiting: Option<&Why>, now: Timestamp) -> VmafxJobStatus {
    let said = said(job, remote, waiting);
    let phase = said.phase();
    let status = said.status(job, now);
    match remote {
        Remote::Job(live) => with(status, job, live, phase),
        _ if is_over(&status) => VmafxJobStatus { finished_at: Some(Time(whole_second(now))), ..status },
        _ => status,
    }
}

/// What the controller's job adds.
fn with(status: VmafxJobStatus, job: &VmafxJob, live: &Job, phase: Phase) -> VmafxJobStatus {
    let details = live.result.as_ref();
    let score = (phase == Phase::Succeeded).then_some(live.final_score);
    VmafxJobStatus {
        controller_job_id: Some(live.id.clone()),
        assigned_node: Some(live.assigned_node.clone()).filter(|name| !name.is_empty()),
        attempts: i32::try_from(live.attempt).ok(),
        started_at: instant(live.started_at_ms),
        finished_at: instant(live.finished_at_ms).filter(|_| phase != Phase::Pending),
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

fn said(job: &VmafxJob, remote: &Remote, waiting: Option<&Why>) -> Said {
    let accepted = ConditionState::met(Reason::Submitted, "the controller has the job");
    let suspended = suspended(job, remote);
    let no = |reason, message: &str| ConditionState::unmet(reason, message);
    let held = job.spec.suspend && !job.spec.cancel;
    match remote {
        Remote::Job(live) => match live.status() {
            JobStatus::Completed => Said::scored(accepted, completed(job, live.final_score), suspended),
            JobStatus::Failed => Said::failed(
                accepted,
                failure(FailureReason::from_number(live.failure_reason)),
                &live.error,
                suspended,
            ),
            JobStatus::Cancelled if was_set_aside(live) && !job.spec.cancel => {
                Said::open(no(Reason::Suspended, HELD_BACK), no(Reason::Suspended, ""), suspended)
            }
            JobStatus::Cancelled => Said::failed(accepted, Reason::Cancelled, &live.error, suspended),
            JobStatus::Running => {
                let node = if live.assigned_node.is_empty() { "a node" } else { &live.assigned_node };
                let running = ConditionState::met(Reason::Scoring, format!("{node} scores it"));
                Said::open(accepted, running, suspended)
            }
            JobStatus::Pending => Said::open(accepted, waits(job, waiting), suspended),
        },
        Remote::Missing if job.spec.cancel => {
            let message = "it was given up before the controller had it";
            Said::failed(no(Reason::Cancelled, ""), Reason::Cancelled, message, suspended)
        }
        Remote::Refused(why) => {
            Said::failed(no(why.reason, &why.message), why.reason, &why.message, suspended)
        }
        // What was known of it is still the best that is known.
        Remote::Unreachable(why) if was_submitted(job) => {
            let accepted = ConditionState::met(why.reason, &why.message);
            let running = kept(job, JobCondition::Running).unwrap_or_else(|| no(why.reason, ""));
            Said::open(accepted, running, suspended)
        }
        Remote::Unreachable(why) => Said::open(no(why.reason, &why.message), no(why.reason, ""), suspended),
        _ if held => Said::open(no(Reason::Suspended, HELD_BACK), no(Reason::Suspended, ""), suspended),
        Remote::Missing => {
            let message = "the controller does not know the job any more; it is submitted again";
            Said::open(no(Reason::Forgotten, message), no(Reason::Forgotten, ""), suspended)
        }
        Remote::NotAsked => Said::open(no(Reason::Reconciling, ""), no(Reason::Reconciling, ""), suspended),
    }
}

/// Why it waits: as the controller explained it, or as it was said before.
fn waits(job: &VmafxJob, waiting: Option<&Why>) -> ConditionState {
    const WAITS: &[Reason] = &[Reason::WaitingForSlot, Reason::NoMatchingNode, Reason::BackingOff];
    match waiting {
        Some(why) => ConditionState::unmet(why.reason, &why.message),
        None => kept(job, JobCondition::Running)
            .filter(|kept| kept.status == ConditionStatus::False && WAITS.contains(&kept.reason))
            .unwrap_or_else(|| ConditionState::unmet(Reason::WaitingForSlot, "it waits for a node")),
    }
}

/// A statement as it was made before.
fn kept(job: &VmafxJob, type_: JobCondition) -> Option<ConditionState> {
    statement(job.status.as_ref()?, type_)
}

fn statement(status: &VmafxJobStatus, type_: JobCondition) -> Option<ConditionState> {
    let condition = status.conditions.iter().find(|one| one.type_ == type_.as_str())?;
    let reason = *Reason::ALL.iter().find(|reason| reason.as_str() == condition.reason)?;
    Some(ConditionState { status: condition.status, reason, message: condition.message.clone() })
}

/// Whether the controller cannot be asked.
fn is_away(reason: Reason) -> bool {
    matches!(reason, Reason::ControllerUnreachable | Reason::Forbidden)
}

fn was_submitted(job: &VmafxJob) -> bool {
    job.status.as_ref().is_some_and(|status| status.controller_job_id.is_some())
}

/// Of a job that has a score.
pub(super) fn completed(job: &VmafxJob, score: f64) -> ConditionState {
    match job.spec.min_score {
        Some(least) if score < least => {
            ConditionState::met(Reason::BelowMinScore, format!("the score is {score:.3}, less than {least}"))
        }
        _ => ConditionState::met(Reason::Scored, format!("the score is {score:.3}")),
    }
}

/// Whether a score is good enough, if one is asked for.
pub(super) fn passed(job: &VmafxJob, score: f64) -> Option<bool> {
    job.spec.min_score.map(|least| score >= least)
}

fn suspended(job: &VmafxJob, remote: &Remote) -> ConditionState {
    let open = match remote {
        Remote::Job(live) => match live.status() {
            JobStatus::Pending | JobStatus::Running => true,
            JobStatus::Cancelled => !was_set_aside(live),
            JobStatus::Completed | JobStatus::Failed => return ConditionState::unmet(Reason::Finished, ""),
        },
        // It may still be there.
        Remote::NotAsked | Remote::Unreachable(_) => was_submitted(job),
        Remote::Refused(_) | Remote::Missing => false,
    };
    match (job.spec.suspend, open) {
        (true, false) => ConditionState::met(Reason::Suspended, GO_ON),
        (true, true) => ConditionState::unmet(Reason::Draining, "it is being taken out of the queue"),
        (false, _) => ConditionState::unmet(Reason::NotSuspended, ""),
    }
}

/// Whether a status is a last word.
pub fn is_over(status: &VmafxJobStatus) -> bool {
    status.phase.is_some_and(Phase::is_last)
}

/// What happened between two statuses that people should hear of. What goes well is said by the status alone: an event
/// for each step of each job would be as many writes again.
pub fn happenings(before: Option<&VmafxJobStatus>, after: &VmafxJobStatus) -> Vec<ResourceEvent> {
    let holds = |status: Option<&VmafxJobStatus>, type_: JobCondition| {
        let condition = status?.conditions.iter().find(|one| one.type_ == type_.as_str())?;
        Some(condition.status == ConditionStatus::True)
    };
    let mut all = Vec::new();
    if let Some(failed) =
        statement(after, JobCondition::Failed).filter(|one| one.status == ConditionStatus::True)
    {
        all.push(match failed.reason {
            Reason::Cancelled => ResourceEvent::normal(failed.reason, failed.message),
            reason => ResourceEvent::warning(reason, failed.message),
        });
    }
    match (holds(before, JobCondition::Suspended), holds(Some(after), JobCondition::Suspended)) {
        (Some(true), Some(false)) => all.push(ResourceEvent::normal(Reason::Resumed, "the job goes on")),
        (Some(false) | None, Some(true)) => {
            all.push(ResourceEvent::normal(Reason::Suspended, "the job is held back"));
        }
        _ => {}
    }
    all
}

/// The condition; with the words that it has while its reason stays, since numbers of a waiting job move by themselves,
/// and a controller is away in many words. Neither is worth a write.
fn settled(
    statement: ConditionState,
    type_: JobCondition,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let kept = before.iter().find(|one| {
        one.type_ == type_.as_str()
            && one.status == statement.status
            && one.reason == statement.reason.as_str()
    });
    let moves = match type_ {
        JobCondition::Running => statement.status == ConditionStatus::False,
        JobCondition::Accepted => is_away(statement.reason),
        JobCondition::Complete | JobCondition::Failed | JobCondition::Suspended => false,
    };
    let statement = match kept {
        Some(kept) if moves => ConditionState { message: kept.message.clone(), ..statement },
        _ => statement,
    };
    statement.into_condition(type_.as_str(), before, generation, now)
}

/// The word for why a job has no score.
pub(super) fn failure(reason: FailureReason) -> Reason {
    match reason {
        FailureReason::InputDenied => Reason::InputRefused,
        FailureReason::InputNotFound | FailureReason::SourceUnreachable => Reason::InputUnavailable,
        FailureReason::NodeLost => Reason::AttemptsExhausted,
        FailureReason::DeadlineExceeded => Reason::DeadlineExceeded,
        _ => Reason::ScoringFailed,
    }
}

fn instant(milliseconds: i64) -> Option<Time> {
    let time = Timestamp::from_millisecond(milliseconds).ok().filter(|_| milliseconds != 0)?;
    Some(Time(whole_second(time)))
}

#[cfg(test)]
mod tests;
