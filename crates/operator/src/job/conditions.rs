//! The five conditions of a VmafxJob, and the phase and message that follow from them. Pure; the same for jobs in the
//! queue and jobs in a Pod.

use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{JobCondition, Reason};
use vmafx_api::job::Phase;
use vmafx_api::{Condition, ConditionStatus, VmafxJob, VmafxJobStatus};

use crate::conditions::ConditionState;

/// The message of `Accepted` while the resource is suspended.
pub(super) const SUSPENDED_MESSAGE: &str = "the job is suspended";

/// The message of `Suspended`.
pub(super) const RESUME_MESSAGE: &str = "set spec.suspend to false to resume";

pub(super) struct JobConditions {
    accepted: ConditionState,
    running: ConditionState,
    complete: ConditionState,
    failed: ConditionState,
    suspended: ConditionState,
}

impl JobConditions {
    /// For a job that has not ended.
    pub(super) fn open(accepted: ConditionState, running: ConditionState, suspended: ConditionState) -> Self {
        let (complete, failed) =
            (ConditionState::unmet(Reason::Unfinished, ""), ConditionState::unmet(Reason::Unfinished, ""));
        Self { accepted, running, complete, failed, suspended }
    }

    /// For a job that has ended with a score.
    pub(super) fn scored(
        accepted: ConditionState,
        complete: ConditionState,
        suspended: ConditionState,
    ) -> Self {
        let (running, failed) =
            (ConditionState::unmet(Reason::Finished, ""), ConditionState::unmet(Reason::Scored, ""));
        Self { accepted, running, complete, failed, suspended }
    }

    /// For a job that has ended without a score.
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

    /// The phase is derived from the conditions, never the other way round.
    pub(super) fn phase(&self) -> Phase {
        match self {
            _ if holds(&self.complete) => Phase::Succeeded,
            _ if holds(&self.failed) && self.failed.reason == Reason::Cancelled => Phase::Cancelled,
            _ if holds(&self.failed) => Phase::Failed,
            _ if holds(&self.running) => Phase::Running,
            _ => Phase::Pending,
        }
    }

    /// The condition whose message becomes that of the status.
    fn summary(&self) -> JobCondition {
        match self {
            _ if holds(&self.complete) => JobCondition::Complete,
            _ if holds(&self.failed) => JobCondition::Failed,
            _ if holds(&self.suspended) => JobCondition::Suspended,
            // An outage, and a change that was refused, matter more than the last observed state of the job.
            _ if is_outage(self.accepted.reason)
                || matches!(
                    self.accepted.reason,
                    Reason::ChangeRefused | Reason::StoreFull | Reason::QuotaExceeded
                ) =>
            {
                JobCondition::Accepted
            }
            _ if holds(&self.accepted) => JobCondition::Running,
            _ => JobCondition::Accepted,
        }
    }

    /// The status with these conditions; all other fields stay as they are.
    pub(super) fn into_status(self, job: &VmafxJob, now: Timestamp) -> VmafxJobStatus {
        let before = job.status.clone().unwrap_or_default();
        let generation = job.metadata.generation;
        let (phase, summary) = (self.phase(), self.summary());
        let all = [
            (JobCondition::Accepted, self.accepted),
            (JobCondition::Running, self.running),
            (JobCondition::Complete, self.complete),
            (JobCondition::Failed, self.failed),
            (JobCondition::Suspended, self.suspended),
        ];
        let condition = |(type_, state)| condition(state, type_, &before.conditions, generation, now);
        let conditions: Vec<_> = all.into_iter().map(condition).collect();
        let summary = conditions.iter().find(|one| one.type_ == summary.as_str());
        VmafxJobStatus {
            phase: Some(phase),
            message: summary.map(|one| one.message.clone()).filter(|text| !text.is_empty()),
            observed_generation: generation,
            conditions,
            ..before
        }
    }
}

fn holds(state: &ConditionState) -> bool {
    state.status == ConditionStatus::True
}

/// Whether the reason says that the controller cannot be asked.
fn is_outage(reason: Reason) -> bool {
    matches!(reason, Reason::ControllerUnreachable | Reason::Forbidden)
}

/// The condition. Two messages stay as they are while status and reason do, because their changes are not worth a write:
/// the numbers of a waiting job, and the many texts of an outage. The message of a job in back-off is that of its last
/// attempt and has no such numbers.
fn condition(
    state: ConditionState,
    type_: JobCondition,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let keeps_message = match type_ {
        JobCondition::Running => state.status == ConditionStatus::False && state.reason != Reason::BackingOff,
        JobCondition::Accepted => is_outage(state.reason),
        JobCondition::Complete | JobCondition::Failed | JobCondition::Suspended => false,
    };
    let same = before.iter().find(|one| {
        one.type_ == type_.as_str() && one.status == state.status && one.reason == state.reason.as_str()
    });
    let state = match same {
        Some(same) if keeps_message => ConditionState { message: same.message.clone(), ..state },
        _ => state,
    };
    state.into_condition(type_.as_str(), before, generation, now)
}

/// A condition of a status, as it was written.
pub(super) fn recorded(status: &VmafxJobStatus, type_: JobCondition) -> Option<ConditionState> {
    let condition = status.conditions.iter().find(|one| one.type_ == type_.as_str())?;
    let reason = *Reason::ALL.iter().find(|reason| reason.as_str() == condition.reason)?;
    Some(ConditionState { status: condition.status, reason, message: condition.message.clone() })
}
