//! What the status of a node says, from what was found. Pure.

use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::node::ManagementPolicy;
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{Condition, ConditionStatus, VmafxNode, VmafxNodeStatus};

use super::health::Health;
use super::render::labels::selector_text;
use crate::conditions::Statement;
use crate::events::Happening;

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

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The StatefulSet that is ours.
    pub tracked: Option<StatefulSetRef>,
    /// Whether everything is as the spec wants it.
    pub synced: Statement,
    /// Its workers, if there is one.
    pub workers: Option<Workers>,
    /// How its agents are.
    pub health: Health,
}

/// The status: every field that is the operator's, and no other.
pub fn status(node: &VmafxNode, found: Found, now: Timestamp) -> VmafxNodeStatus {
    let before = node.status.clone().unwrap_or_default();
    let generation = node.metadata.generation;
    let paused = paused(node, found.workers.as_ref(), &before.conditions);
    let rollout = rollout(node, found.workers.as_ref());
    let ready = ready(node, &found, &paused);
    let said = [
        (NodeCondition::Ready, ready),
        (NodeCondition::WorkloadSynced, found.synced),
        (NodeCondition::Paused, paused),
        (NodeCondition::RolloutInProgress, rollout),
        (NodeCondition::AgentHealthy, found.health.statement),
    ];
    let condition = |(type_, statement): (NodeCondition, Statement)| {
        statement.condition(type_.as_str(), &before.conditions, generation, now)
    };
    let external = node.spec.management_policy == ManagementPolicy::External;
    let workers = found.workers.as_ref();
    let whole = workers.filter(|workers| workers.one_revision && workers.observed && workers.existing > 0);
    VmafxNodeStatus {
        healthy: Some(found.health.healthy),
        stateful_set: found.tracked,
        replicas: workers.map(|workers| workers.existing).or((!external).then_some(0)),
        ready_replicas: workers.map(|workers| workers.ready).or((!external).then_some(0)),
        selector: (!external).then(|| selector_text(node)),
        current_image: whole.map_or(before.current_image, |workers| workers.image.clone()),
        observed_generation: generation,
        conditions: said.map(condition).to_vec(),
        last_heartbeat: None,
        assigned_jobs: None,
        detected_device: None,
    }
}

fn paused(node: &VmafxNode, workers: Option<&Workers>, before: &[Condition]) -> Statement {
    if !node.spec.paused {
        let said = before.iter().find(|one| one.type_ == NodeCondition::Paused.as_str());
        let ever = said.is_some_and(|one| one.reason != Reason::NotPaused.as_str());
        return Statement::no(if ever { Reason::Resumed } else { Reason::NotPaused }, "");
    }
    match workers {
        Some(workers) if !workers.observed || workers.existing > 0 => Statement::no(
            Reason::Draining,
            format!("{} finish their jobs or hand them back", count(workers.existing)),
        ),
        _ => {
            Statement::yes(Reason::Drained, "no worker is left; set spec.paused to false to bring them back")
        }
    }
}

fn rollout(node: &VmafxNode, workers: Option<&Workers>) -> Statement {
    match workers {
        None if node.spec.management_policy == ManagementPolicy::External => {
            Statement::no(Reason::External, "")
        }
        Some(workers) if workers.wanted > 0 && !(workers.observed && workers.one_revision) => Statement::yes(
            Reason::RollingOut,
            format!("{} of {} are of the newest template", workers.renewed, count(workers.wanted)),
        ),
        _ => Statement::no(Reason::AsExpected, ""),
    }
}

/// The summary: the first thing that stands in the way.
fn ready(node: &VmafxNode, found: &Found, paused: &Statement) -> Statement {
    if found.synced.status != ConditionStatus::True {
        return Statement::no(found.synced.reason, found.synced.message.clone());
    }
    if node.spec.paused {
        return Statement::no(paused.reason, paused.message.clone());
    }
    if let Some(workers) = &found.workers {
        if workers.wanted == 0 {
            return Statement::no(Reason::Drained, "scaled to zero; set spec.replicas to bring workers back");
        }
        if !workers.observed || workers.ready < workers.wanted {
            return Statement::no(
                Reason::WorkersStarting,
                format!("{} of {} are ready", workers.ready, count(workers.wanted)),
            );
        }
    }
    if !found.health.is_known_to_be_well() {
        let Statement { reason, ref message, .. } = found.health.statement;
        return Statement::no(reason, message.clone());
    }
    Statement::yes(
        Reason::AsExpected,
        found.workers.as_ref().map_or_else(
            || "agents report in time".to_owned(),
            |workers| format!("{} at work", count(workers.ready)),
        ),
    )
}

fn count(workers: i32) -> String {
    if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") }
}

/// What happened between two statuses that people would want to hear of.
pub fn happenings(before: Option<&VmafxNodeStatus>, after: &VmafxNodeStatus) -> Vec<Happening> {
    let find = |conditions: &[Condition], type_: NodeCondition| {
        conditions.iter().find(|condition| condition.type_ == type_.as_str()).cloned()
    };
    let mut all = Vec::new();
    let Some(before) = before else { return all };
    let mut on_change = |type_: NodeCondition, tell: fn(&Condition, &Condition) -> Option<Happening>| {
        if let (Some(old), Some(new)) = (find(&before.conditions, type_), find(&after.conditions, type_))
            && (old.status, &old.reason) != (new.status, &new.reason)
        {
            all.extend(tell(&old, &new));
        }
    };
    on_change(NodeCondition::Paused, |old, new| match (new.status, new.reason.as_str()) {
        (ConditionStatus::True, _) => Some(Happening::normal(Reason::Drained, new.message.clone())),
        (_, reason) if reason == Reason::Draining.as_str() => {
            Some(Happening::normal(Reason::Draining, new.message.clone()))
        }
        _ => Some(Happening::normal(Reason::Resumed, format!("workers come back; it was {}", old.reason))),
    });
    on_change(NodeCondition::RolloutInProgress, |old, new| match (old.status, new.status) {
        (_, ConditionStatus::True) => Some(Happening::normal(Reason::RollingOut, new.message.clone())),
        (ConditionStatus::True, _) => {
            Some(Happening::normal(Reason::RolledOut, "every worker is of the newest template"))
        }
        _ => None,
    });
    on_change(NodeCondition::AgentHealthy, |old, new| match (old.status, new.status) {
        (_, ConditionStatus::True) => {
            Some(Happening::normal(Reason::AgentsHealthy, format!("{}; it was {}", new.message, old.reason)))
        }
        (_, ConditionStatus::False)
            if [Reason::HeartbeatStale, Reason::ProbeFailed].map(Reason::as_str).contains(&&*new.reason) =>
        {
            let reason = if new.reason == Reason::ProbeFailed.as_str() {
                Reason::ProbeFailed
            } else {
                Reason::HeartbeatStale
            };
            Some(Happening::warning(reason, new.message.clone()))
        }
        _ => None,
    });
    all
}

#[cfg(test)]
mod tests;
