//! The status of a VmafxModelTraining: what it says, which is pure, and the write of it.
//!
//! | phase        | when                                                                                       |
//! |--------------|--------------------------------------------------------------------------------------------|
//! | Paused       | requested, and no trainer is left                                                          |
//! | as reported  | the trainer answers                                                                        |
//! | as it was    | the trainer does not answer, or is about to stop: its last report counts, and `Ready` has the reason |
//! | Initializing | the trainer has not answered since the run was created or resumed                          |
//!
//! A report counts as it is: after a restart of the trainer there may be fewer samples than before.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{Reason, TrainingCondition};
use vmafx_api::training::{TrainingMetrics, TrainingPhase};
use vmafx_api::{Condition, ConditionStatus, VmafxModelTraining, VmafxModelTrainingStatus};

use super::TrainingReconciler;
use super::apply::AppliedTraining;
use super::checkpoint::is_new;
use super::plan::TrainingPlan;
use super::poll::{PollResult, TrainerReport};
use crate::conditions::{ConditionState, transition};
use crate::events::ResourceEvent;
use crate::runtime::ReconcileError;
use crate::status::update;
use crate::workload::WorkloadStatus;
use crate::workload::workers::{self, rollout};

/// Writes the status if it has changed, then publishes events for the transitions. `false`: the run is gone.
pub(super) async fn write(
    reconciler: &TrainingReconciler,
    training: &VmafxModelTraining,
    plan: &TrainingPlan,
    applied: &AppliedTraining,
    now: Timestamp,
) -> Result<bool, ReconcileError> {
    if applied.workload.as_ref().is_err_and(ReconcileError::is_conflict) {
        // The retry follows at once, so a conflict is not reported in the status.
        return Ok(true);
    }
    let workload = plan.workload.status(applied.workload.as_ref());
    let poll = match (plan.poll.as_deref(), &applied.checkpoint) {
        // A checkpoint whose event is not published yet is not recorded either.
        (Some(Ok(report)), Err(_)) => Some(Cow::Owned(Ok(report.without_checkpoint()))),
        (poll, _) => poll.map(Cow::Borrowed),
    };
    let after = status(training, &workload, poll.as_deref(), now);
    let before = training.status.as_ref();
    if !update(&reconciler.client, &reconciler.trainings, training, before, &after).await? {
        return Ok(false);
    }
    for event in workload.event.into_iter().chain(transition_events(before, &after)) {
        reconciler.recorder.publish(training, &event).await;
    }
    Ok(true)
}

pub fn status(
    training: &VmafxModelTraining,
    workload: &WorkloadStatus,
    poll: Option<&PollResult>,
    now: Timestamp,
) -> VmafxModelTrainingStatus {
    let before = training.status.clone().unwrap_or_default();
    let conditions = before.conditions.clone();
    let report = poll.and_then(|poll| poll.as_ref().ok());
    let paused = workers::paused(
        training.spec.paused,
        workload.workers.as_ref(),
        &conditions,
        |_| "the trainer saves its work and stops".to_owned(),
        "no trainer is running; set spec.paused to false to resume",
    );
    let phase = phase(training, report, &paused, before.phase);
    let ready = ready(training, workload, poll, &paused, before.phase);
    let status = match report {
        Some(report) => with_report(before, report, now),
        None => before,
    };
    let all = [
        (TrainingCondition::Ready, Some(ready)),
        (TrainingCondition::WorkloadSynced, Some(workload.synced.clone())),
        (TrainingCondition::Paused, Some(paused)),
        (TrainingCondition::RolloutInProgress, Some(rollout(workload.workers.as_ref()))),
        (TrainingCondition::CheckpointPushed, report.and_then(|report| pushed(report, &status))),
        (TrainingCondition::GatePassed, report.and_then(gate)),
    ];
    let generation = training.metadata.generation;
    VmafxModelTrainingStatus {
        phase: Some(phase),
        // A run that has not reported yet has learned from none.
        current_samples: status.current_samples.or(Some(0)),
        observed_generation: generation,
        conditions: all.map(|(type_, state)| condition(type_, state, &conditions, generation, now)).to_vec(),
        stateful_set: workload.tracked.clone(),
        ..status
    }
}

/// The status with what a report says. What a report does not say stays as it was.
pub(super) fn with_report(
    before: VmafxModelTrainingStatus,
    report: &TrainerReport,
    now: Timestamp,
) -> VmafxModelTrainingStatus {
    let recorded = before.last_checkpoint.as_ref().map(|time| time.0);
    let older = |time| recorded != Some(time) && !is_new(recorded, time, now);
    let report = if report.checkpoint.is_some_and(older) { &report.without_checkpoint() } else { report };
    let measured = report.metrics != TrainingMetrics::default();
    VmafxModelTrainingStatus {
        current_samples: report.samples.or(before.current_samples),
        samples_pending: report.samples_pending.or(before.samples_pending),
        last_checkpoint: report.checkpoint.map(Time).or(before.last_checkpoint),
        model_version: report.version.clone().or(before.model_version),
        digest: report.digest.clone().or(before.digest),
        stable_version: report.stable_version.clone().or(before.stable_version),
        metrics: measured.then(|| report.metrics.clone()).or(before.metrics),
        ..before
    }
}

fn phase(
    training: &VmafxModelTraining,
    report: Option<&TrainerReport>,
    paused: &ConditionState,
    before: Option<TrainingPhase>,
) -> TrainingPhase {
    if paused.status == ConditionStatus::True {
        return TrainingPhase::Paused;
    }
    let resumed = !training.spec.paused && before == Some(TrainingPhase::Paused);
    let stays = before.filter(|_| !resumed).unwrap_or(TrainingPhase::Initializing);
    match report {
        Some(report) if !training.spec.paused => report.phase,
        _ => stays,
    }
}

/// The summary: the first obstacle.
fn ready(
    training: &VmafxModelTraining,
    workload: &WorkloadStatus,
    poll: Option<&PollResult>,
    paused: &ConditionState,
    before: Option<TrainingPhase>,
) -> ConditionState {
    if workload.synced.status != ConditionStatus::True {
        return ConditionState::unmet(workload.synced.reason, workload.synced.message.clone());
    }
    if training.spec.paused {
        return ConditionState::unmet(paused.reason, paused.message.clone());
    }
    match poll {
        Some(Ok(report)) => reported(report),
        Some(Err(error)) => {
            let was_running = matches!(before, Some(TrainingPhase::Running | TrainingPhase::Failed));
            let reason = if was_running { Reason::TrainerUnreachable } else { Reason::TrainerStarting };
            ConditionState::unmet(reason, error.clone())
        }
        None => ConditionState::unmet(Reason::TrainerStarting, "the trainer has not been polled yet"),
    }
}

fn reported(report: &TrainerReport) -> ConditionState {
    match report.phase {
        TrainingPhase::Running => ConditionState::met(Reason::Training, "the trainer is learning"),
        TrainingPhase::Initializing => {
            ConditionState::unmet(Reason::TrainerStarting, "the trainer answers but does not learn yet")
        }
        TrainingPhase::Paused => {
            ConditionState::unmet(Reason::Suspended, "the trainer reports that it is paused")
        }
        TrainingPhase::Failed if report.error.is_empty() => {
            ConditionState::unmet(Reason::TrainingFailed, "the trainer reports no error: see its logs")
        }
        TrainingPhase::Failed => ConditionState::unmet(Reason::TrainingFailed, report.error.clone()),
    }
}

fn pushed(report: &TrainerReport, status: &VmafxModelTrainingStatus) -> Option<ConditionState> {
    if !report.push_error.is_empty() {
        return Some(ConditionState::unmet(Reason::PushFailed, report.push_error.clone()));
    }
    status.last_checkpoint.as_ref()?;
    let version = status.model_version.as_deref().unwrap_or("without a version");
    Some(ConditionState::met(Reason::CheckpointWritten, format!("the last checkpoint is {version}")))
}

fn gate(report: &TrainerReport) -> Option<ConditionState> {
    let message = report.gate_message.clone();
    report.gate_passed.map(|passed| {
        if passed {
            ConditionState::met(Reason::GateHeld, message)
        } else {
            ConditionState::unmet(Reason::GateMissed, message)
        }
    })
}

/// A condition about which nothing new is known stays as it was.
fn condition(
    type_: TrainingCondition,
    state: Option<ConditionState>,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let kept = before.iter().find(|one| one.type_ == type_.as_str());
    match (state, kept) {
        (Some(state), _) => state.into_condition(type_.as_str(), before, generation, now),
        (None, Some(kept)) => Condition { observed_generation: generation, ..kept.clone() },
        (None, None) => ConditionState::unknown(Reason::CheckpointNotDue, "no checkpoint was due yet")
            .into_condition(type_.as_str(), before, generation, now),
    }
}

/// Events for the transitions between two statuses; the first status is no transition. Checkpoints have their own event.
pub fn transition_events(
    before: Option<&VmafxModelTrainingStatus>,
    after: &VmafxModelTrainingStatus,
) -> Vec<ResourceEvent> {
    let Some(before) = before else { return Vec::new() };
    let (before, after) = (before.conditions.as_slice(), after.conditions.as_slice());
    let event = |type_: TrainingCondition, published: &[Reason]| {
        let (old, new) = transition(before, after, type_.as_str())?;
        let reason = *published.iter().find(|reason| new.reason == reason.as_str())?;
        Some(match new.status {
            ConditionStatus::True => {
                ResourceEvent::normal(reason, format!("{}; the reason was {}", new.message, old.reason))
            }
            _ => ResourceEvent::warning(reason, new.message.clone()),
        })
    };
    let trainer = [Reason::Training, Reason::TrainingFailed, Reason::TrainerUnreachable];
    let events = [
        event(TrainingCondition::Ready, &trainer),
        event(TrainingCondition::CheckpointPushed, &[Reason::PushFailed]),
        event(TrainingCondition::GatePassed, &[Reason::GateMissed]),
    ];
    workers::transition_events(before, after).chain(events.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests;
