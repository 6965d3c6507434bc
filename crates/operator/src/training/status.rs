//! What the status of a training run says, from what was found. Pure.
//!
//! | phase        | when                                                                                       |
//! |--------------|--------------------------------------------------------------------------------------------|
//! | Paused       | by request, and no trainer is left                                                         |
//! | as reported  | the trainer answers                                                                        |
//! | as it was    | it does not, or is about to leave: what it said last still holds, and `Ready` says the rest |
//! | Initializing | it has not answered since the run was made or resumed                                      |
//!
//! What a trainer says counts as it is: after a restart there may be fewer samples. What it does not say stays.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{Reason, TrainingCondition};
use vmafx_api::training::{TrainingMetrics, TrainingPhase};
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{Condition, ConditionStatus, VmafxModelTraining, VmafxModelTrainingStatus};

use super::checkpoint::is_new;
use super::poll::{Answer, Report};
use crate::conditions::{Statement, change};
use crate::events::Happening;
use crate::workload::Workers;
use crate::workload::workers::{self, rollout};

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The StatefulSet that is ours.
    pub tracked: Option<StatefulSetRef>,
    /// Whether everything is as the spec wants it.
    pub synced: Statement,
    /// The trainer's Pod, if there is a StatefulSet.
    pub workers: Option<Workers>,
    /// What the trainer says, if it was asked.
    pub answer: Option<Arc<Answer>>,
}

impl Found {
    fn report(&self) -> Option<&Report> {
        self.answer.as_deref()?.as_ref().ok()
    }
}

/// The status.
pub fn status(training: &VmafxModelTraining, found: &Found, now: Timestamp) -> VmafxModelTrainingStatus {
    let before = training.status.clone().unwrap_or_default();
    let conditions = before.conditions.clone();
    let paused = workers::paused(
        training.spec.paused,
        found.workers.as_ref(),
        &conditions,
        |_| "the trainer saves its work and leaves".to_owned(),
        "no trainer is left; set spec.paused to false to go on",
    );
    let phase = phase(training, found, &paused, before.phase);
    let ready = ready(training, found, &paused, before.phase);
    let status = match found.report() {
        Some(report) => with(before, report, now),
        None => before,
    };
    let report = found.report();
    let said = [
        (TrainingCondition::Ready, Some(ready)),
        (TrainingCondition::WorkloadSynced, Some(found.synced.clone())),
        (TrainingCondition::Paused, Some(paused)),
        (TrainingCondition::RolloutInProgress, Some(rollout(found.workers.as_ref()))),
        (TrainingCondition::CheckpointPushed, report.and_then(|report| pushed(report, &status))),
        (TrainingCondition::GatePassed, report.and_then(gate)),
    ];
    let generation = training.metadata.generation;
    VmafxModelTrainingStatus {
        phase: Some(phase),
        observed_generation: generation,
        conditions: said
            .map(|(type_, statement)| condition(type_, statement, &conditions, generation, now))
            .to_vec(),
        stateful_set: found.tracked.clone(),
        ..status
    }
}

/// What a report adds.
fn with(before: VmafxModelTrainingStatus, report: &Report, now: Timestamp) -> VmafxModelTrainingStatus {
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
    found: &Found,
    paused: &Statement,
    before: Option<TrainingPhase>,
) -> TrainingPhase {
    if paused.status == ConditionStatus::True {
        return TrainingPhase::Paused;
    }
    let resumed = !training.spec.paused && before == Some(TrainingPhase::Paused);
    let stays = before.filter(|_| !resumed).unwrap_or(TrainingPhase::Initializing);
    match found.report() {
        Some(report) if !training.spec.paused => report.phase,
        _ => stays,
    }
}

/// The summary: the first thing that stands in the way.
fn ready(
    training: &VmafxModelTraining,
    found: &Found,
    paused: &Statement,
    before: Option<TrainingPhase>,
) -> Statement {
    if found.synced.status != ConditionStatus::True {
        return Statement::no(found.synced.reason, found.synced.message.clone());
    }
    if training.spec.paused {
        return Statement::no(paused.reason, paused.message.clone());
    }
    match found.answer.as_deref() {
        Some(Ok(report)) => of_report(report),
        Some(Err(why)) => {
            let began = matches!(before, Some(TrainingPhase::Running | TrainingPhase::Failed));
            let reason = if began { Reason::TrainerUnreachable } else { Reason::TrainerStarting };
            Statement::no(reason, why.clone())
        }
        None => Statement::no(Reason::TrainerStarting, "the trainer has not been asked yet"),
    }
}

fn of_report(report: &Report) -> Statement {
    match report.phase {
        TrainingPhase::Running => Statement::yes(Reason::Training, "the trainer is learning"),
        TrainingPhase::Initializing => {
            Statement::no(Reason::TrainerStarting, "the trainer answers and does not learn yet")
        }
        TrainingPhase::Paused => Statement::no(Reason::Suspended, "the trainer says that it is paused"),
        TrainingPhase::Failed if report.error.is_empty() => {
            Statement::no(Reason::TrainingFailed, "the trainer does not say why: see its logs")
        }
        TrainingPhase::Failed => Statement::no(Reason::TrainingFailed, report.error.clone()),
    }
}

fn pushed(report: &Report, status: &VmafxModelTrainingStatus) -> Option<Statement> {
    if !report.push_error.is_empty() {
        return Some(Statement::no(Reason::PushFailed, report.push_error.clone()));
    }
    status.last_checkpoint.as_ref()?;
    let version = status.model_version.as_deref().unwrap_or("without a version");
    Some(Statement::yes(Reason::CheckpointWritten, format!("the last checkpoint is {version}")))
}

fn gate(report: &Report) -> Option<Statement> {
    let message = report.gate_message.clone();
    report.gate_passed.map(|passed| {
        if passed {
            Statement::yes(Reason::GateHeld, message)
        } else {
            Statement::no(Reason::GateMissed, message)
        }
    })
}

/// The condition. One about which nothing new is known says what it said.
fn condition(
    type_: TrainingCondition,
    statement: Option<Statement>,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let kept = before.iter().find(|one| one.type_ == type_.as_str());
    match (statement, kept) {
        (Some(statement), _) => statement.condition(type_.as_str(), before, generation, now),
        (None, Some(kept)) => Condition { observed_generation: generation, ..kept.clone() },
        (None, None) => Statement::unknown(Reason::CheckpointNotDue, "no checkpoint was due yet").condition(
            type_.as_str(),
            before,
            generation,
            now,
        ),
    }
}

/// What happened between two statuses that people would want to hear of. Checkpoints are told by themselves.
pub fn happenings(
    before: Option<&VmafxModelTrainingStatus>,
    after: &VmafxModelTrainingStatus,
) -> Vec<Happening> {
    let Some(before) = before else { return Vec::new() };
    let (before, after) = (before.conditions.as_slice(), after.conditions.as_slice());
    let of = |type_: TrainingCondition, worth: &[Reason]| {
        let (old, new) = change(before, after, type_.as_str())?;
        let reason = *worth.iter().find(|reason| new.reason == reason.as_str())?;
        Some(match new.status {
            ConditionStatus::True => {
                Happening::normal(reason, format!("{}; it was {}", new.message, old.reason))
            }
            _ => Happening::warning(reason, new.message.clone()),
        })
    };
    let trainer = [Reason::Training, Reason::TrainingFailed, Reason::TrainerUnreachable];
    let more = [
        of(TrainingCondition::Ready, &trainer),
        of(TrainingCondition::CheckpointPushed, &[Reason::PushFailed]),
        of(TrainingCondition::GatePassed, &[Reason::GateMissed]),
    ];
    workers::happenings(before, after).chain(more.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests;
