//! The Pods of a StatefulSet in numbers, and the conditions and events that follow from them. Pure.

use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::{Condition, ConditionStatus};

use super::snapshot::StatefulSetSnapshot;
use crate::conditions::{ConditionState, transition};
use crate::events::ResourceEvent;

/// Condition types that all kinds with a workload share.
const PAUSED: &str = NodeCondition::Paused.as_str();
const ROLLOUT: &str = NodeCondition::RolloutInProgress.as_str();

/// The Pods of a StatefulSet, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Whether the numbers describe the current spec.
    pub observed: bool,
    pub desired: i32,
    /// Pods that exist, those that terminate included.
    pub existing: i32,
    pub ready: i32,
    /// Pods of the newest template.
    pub updated: i32,
    /// Whether all Pods are of the newest template.
    pub one_revision: bool,
    /// Image of the newest template.
    pub image: Option<String>,
}

impl From<&StatefulSetSnapshot> for WorkerCounts {
    fn from(set: &StatefulSetSnapshot) -> Self {
        let progress = &set.progress;
        Self {
            observed: progress.observed_generation >= set.generation,
            desired: set.replicas,
            existing: progress.replicas,
            ready: progress.ready,
            updated: progress.updated,
            one_revision: progress.current_revision == progress.update_revision
                && progress.updated >= progress.replicas,
            image: set.image.clone(),
        }
    }
}

impl WorkerCounts {
    /// Whether a Pod may still be running.
    pub fn remain(&self) -> bool {
        !self.observed || self.existing > 0
    }
}

/// The condition `Paused`; `draining` and `drained` are its messages while Pods terminate and when they are gone.
pub fn paused(
    requested: bool,
    workers: Option<&WorkerCounts>,
    before: &[Condition],
    draining: impl FnOnce(&WorkerCounts) -> String,
    drained: &str,
) -> ConditionState {
    if !requested {
        let before = before.iter().find(|condition| condition.type_ == PAUSED);
        let ever = before.is_some_and(|condition| condition.reason != Reason::NotPaused.as_str());
        return ConditionState::unmet(if ever { Reason::Resumed } else { Reason::NotPaused }, "");
    }
    match workers {
        Some(workers) if workers.remain() => ConditionState::unmet(Reason::Draining, draining(workers)),
        _ => ConditionState::met(Reason::Drained, drained),
    }
}

/// The condition `RolloutInProgress`.
pub fn rollout(workers: Option<&WorkerCounts>) -> ConditionState {
    match workers {
        Some(workers) if workers.desired > 0 && !(workers.observed && workers.one_revision) => {
            ConditionState::met(
                Reason::RollingOut,
                format!("{} of {} are of the newest template", workers.updated, count(workers.desired)),
            )
        }
        _ => ConditionState::unmet(Reason::AsExpected, ""),
    }
}

pub fn count(workers: i32) -> String {
    if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") }
}

/// Events for the transitions of both conditions.
pub fn transition_events(before: &[Condition], after: &[Condition]) -> impl Iterator<Item = ResourceEvent> {
    let pause = transition(before, after, PAUSED).map(|(old, new)| pause_event(old, new));
    let rollout = transition(before, after, ROLLOUT).and_then(|(old, new)| rollout_event(old, new));
    pause.into_iter().chain(rollout)
}

fn pause_event(old: &Condition, new: &Condition) -> ResourceEvent {
    match (new.status, new.reason.as_str()) {
        (ConditionStatus::True, _) => ResourceEvent::normal(Reason::Drained, new.message.clone()),
        (_, reason) if reason == Reason::Draining.as_str() => {
            ResourceEvent::normal(Reason::Draining, new.message.clone())
        }
        _ => ResourceEvent::normal(
            Reason::Resumed,
            format!("the workers start again; the reason was {}", old.reason),
        ),
    }
}

fn rollout_event(old: &Condition, new: &Condition) -> Option<ResourceEvent> {
    match (old.status, new.status) {
        (_, ConditionStatus::True) => Some(ResourceEvent::normal(Reason::RollingOut, new.message.clone())),
        (ConditionStatus::True, _) => {
            Some(ResourceEvent::normal(Reason::RolledOut, "all workers are of the newest template"))
        }
        _ => None,
    }
}
