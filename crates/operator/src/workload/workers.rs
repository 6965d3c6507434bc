//! What a StatefulSet says of its Pods, and what conditions and events say of that. Pure.

use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::{Condition, ConditionStatus};

use super::facts::Facts;
use crate::conditions::{Statement, change};
use crate::events::Happening;

/// The condition types that all kinds with a workload have in common, by the names that they share.
const PAUSED: &str = NodeCondition::Paused.as_str();
const ROLLOUT: &str = NodeCondition::RolloutInProgress.as_str();

/// What the StatefulSet says of its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workers {
    /// Whether the numbers speak of the spec as it is.
    pub observed: bool,
    /// How many there should be.
    pub wanted: i32,
    /// How many there are, those that are leaving included.
    pub existing: i32,
    /// How many are ready.
    pub ready: i32,
    /// How many are of the newest template.
    pub renewed: i32,
    /// Whether that is all there is.
    pub one_revision: bool,
    /// The image of the newest template.
    pub image: Option<String>,
}

impl From<&Facts> for Workers {
    fn from(facts: &Facts) -> Self {
        let numbers = &facts.numbers;
        Self {
            observed: numbers.observed_generation >= facts.generation,
            wanted: facts.replicas,
            existing: numbers.replicas,
            ready: numbers.ready,
            renewed: numbers.updated,
            one_revision: numbers.current_revision == numbers.update_revision
                && numbers.updated >= numbers.replicas,
            image: facts.image.clone(),
        }
    }
}

impl Workers {
    /// Whether somebody may still be at work.
    pub fn remain(&self) -> bool {
        !self.observed || self.existing > 0
    }
}

/// The condition `Paused`. `draining` and `drained` are its words while workers leave, and when they are gone.
pub fn paused(
    asked: bool,
    workers: Option<&Workers>,
    before: &[Condition],
    draining: impl FnOnce(&Workers) -> String,
    drained: &str,
) -> Statement {
    if !asked {
        let said = before.iter().find(|one| one.type_ == PAUSED);
        let ever = said.is_some_and(|one| one.reason != Reason::NotPaused.as_str());
        return Statement::no(if ever { Reason::Resumed } else { Reason::NotPaused }, "");
    }
    match workers {
        Some(workers) if workers.remain() => Statement::no(Reason::Draining, draining(workers)),
        _ => Statement::yes(Reason::Drained, drained),
    }
}

/// The condition `RolloutInProgress`.
pub fn rollout(workers: Option<&Workers>) -> Statement {
    match workers {
        Some(workers) if workers.wanted > 0 && !(workers.observed && workers.one_revision) => Statement::yes(
            Reason::RollingOut,
            format!("{} of {} are of the newest template", workers.renewed, count(workers.wanted)),
        ),
        _ => Statement::no(Reason::AsExpected, ""),
    }
}

/// So many workers, in words.
pub fn count(workers: i32) -> String {
    if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") }
}

/// What happened to both conditions that people would want to hear of.
pub fn happenings(before: &[Condition], after: &[Condition]) -> impl Iterator<Item = Happening> {
    let pause = change(before, after, PAUSED).map(|(old, new)| of_pause(old, new));
    let rollout = change(before, after, ROLLOUT).and_then(|(old, new)| of_rollout(old, new));
    pause.into_iter().chain(rollout)
}

fn of_pause(old: &Condition, new: &Condition) -> Happening {
    match (new.status, new.reason.as_str()) {
        (ConditionStatus::True, _) => Happening::normal(Reason::Drained, new.message.clone()),
        (_, reason) if reason == Reason::Draining.as_str() => {
            Happening::normal(Reason::Draining, new.message.clone())
        }
        _ => Happening::normal(Reason::Resumed, format!("workers come back; it was {}", old.reason)),
    }
}

fn of_rollout(old: &Condition, new: &Condition) -> Option<Happening> {
    match (old.status, new.status) {
        (_, ConditionStatus::True) => Some(Happening::normal(Reason::RollingOut, new.message.clone())),
        (ConditionStatus::True, _) => {
            Some(Happening::normal(Reason::RolledOut, "every worker is of the newest template"))
        }
        _ => None,
    }
}
