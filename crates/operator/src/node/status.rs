//! What the status of a node says, from what was found. Pure.

use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::node::ManagementPolicy;
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{Condition, ConditionStatus, VmafxNode, VmafxNodeStatus};

use super::health::Health;
use super::render::workload_name;
use crate::conditions::{Statement, change};
use crate::events::Happening;
use crate::render::labels::selector_text;
use crate::workload::Workers;
use crate::workload::workers::{self, count};

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
        selector: (!external).then(|| selector_text(&workload_name(node))),
        current_image: whole.map_or(before.current_image, |workers| workers.image.clone()),
        observed_generation: generation,
        conditions: said.map(condition).to_vec(),
        last_heartbeat: None,
        assigned_jobs: None,
        detected_device: None,
    }
}

fn paused(node: &VmafxNode, workers: Option<&Workers>, before: &[Condition]) -> Statement {
    workers::paused(
        node.spec.paused,
        workers,
        before,
        |workers| format!("{} finish their jobs or hand them back", count(workers.existing)),
        "no worker is left; set spec.paused to false to bring them back",
    )
}

fn rollout(node: &VmafxNode, workers: Option<&Workers>) -> Statement {
    if workers.is_none() && node.spec.management_policy == ManagementPolicy::External {
        return Statement::no(Reason::External, "");
    }
    workers::rollout(workers)
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

/// What happened between two statuses that people would want to hear of.
pub fn happenings(before: Option<&VmafxNodeStatus>, after: &VmafxNodeStatus) -> Vec<Happening> {
    let Some(before) = before else { return Vec::new() };
    let (before, after) = (before.conditions.as_slice(), after.conditions.as_slice());
    let health = change(before, after, NodeCondition::AgentHealthy.as_str());
    let health = health.and_then(|(old, new)| of_health(old, new));
    workers::happenings(before, after).chain(health).collect()
}

fn of_health(old: &Condition, new: &Condition) -> Option<Happening> {
    match new.status {
        ConditionStatus::True => {
            Some(Happening::normal(Reason::AgentsHealthy, format!("{}; it was {}", new.message, old.reason)))
        }
        ConditionStatus::False => {
            let worth = [Reason::HeartbeatStale, Reason::ProbeFailed];
            let reason = worth.into_iter().find(|reason| new.reason == reason.as_str())?;
            Some(Happening::warning(reason, new.message.clone()))
        }
        ConditionStatus::Unknown => None,
    }
}

#[cfg(test)]
mod tests;
