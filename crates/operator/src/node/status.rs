//! The status of a VmafxNode: what it says, which is pure, and the write of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::node::ManagementPolicy;
use vmafx_api::{Condition, ConditionStatus, VmafxNode, VmafxNodeStatus};

use super::NodeReconciler;
use super::health::AgentHealth;
use super::plan::NodePlan;
use super::render::workload_name;
use crate::conditions::{ConditionState, transition, whole_second};
use crate::events::ResourceEvent;
use crate::render::labels::selector_text;
use crate::runtime::ReconcileError;
use crate::status::update;
use crate::workload::workers::{self, count};
use crate::workload::{AppliedWorkload, WorkerCounts, WorkloadStatus};

/// Writes the status if it has changed, then publishes events for the transitions. `false`: the node is gone.
pub(super) async fn write(
    reconciler: &NodeReconciler,
    node: &VmafxNode,
    plan: &NodePlan,
    applied: &Result<AppliedWorkload, ReconcileError>,
    now: Timestamp,
) -> Result<bool, ReconcileError> {
    if applied.as_ref().is_err_and(ReconcileError::is_conflict) {
        // The retry follows at once, so a conflict is not reported in the status.
        return Ok(true);
    }
    let workload = plan.workload.status(applied.as_ref());
    let before = node.status.as_ref().map(operator_fields);
    let after = status(node, &workload, &plan.health, now);
    let after = with_probe_time(after, before.as_ref(), plan.probed_at);
    if !update(&reconciler.client, &reconciler.nodes, node, before.as_ref(), &after).await? {
        return Ok(false);
    }
    for event in workload.event.into_iter().chain(transition_events(node.status.as_ref(), &after)) {
        reconciler.recorder.publish(node, &event).await;
    }
    Ok(true)
}

/// The status without the fields that are the controller's.
fn operator_fields(status: &VmafxNodeStatus) -> VmafxNodeStatus {
    let assigned_jobs = status.assigned_jobs.filter(|_| status.last_heartbeat.is_none());
    VmafxNodeStatus {
        last_heartbeat: None,
        assigned_jobs,
        detected_device: None,
        quarantine: None,
        ..status.clone()
    }
}

/// The time of the probe changes with the rest of the status and never alone: the controller is probed twice a minute, and
/// a time that moves with every probe would be a write for every node.
fn with_probe_time(
    after: VmafxNodeStatus,
    before: Option<&VmafxNodeStatus>,
    probed_at: Option<Timestamp>,
) -> VmafxNodeStatus {
    let recorded = before.and_then(|before| before.last_probe_time.clone());
    let unchanged = VmafxNodeStatus { last_probe_time: recorded.clone(), ..after };
    if before == Some(&unchanged) {
        return unchanged;
    }
    let last_probe_time = probed_at.map(|at| Time(whole_second(at))).or(recorded);
    VmafxNodeStatus { last_probe_time, ..unchanged }
}

/// Every field of the status that is the operator's, and no other.
pub fn status(
    node: &VmafxNode,
    workload: &WorkloadStatus,
    health: &AgentHealth,
    now: Timestamp,
) -> VmafxNodeStatus {
    let before = node.status.clone().unwrap_or_default();
    let generation = node.metadata.generation;
    let workers = workload.workers.as_ref();
    let paused = paused(node, workers, &before.conditions);
    let states = [
        (NodeCondition::Ready, ready(node, workload, health, &paused)),
        (NodeCondition::WorkloadSynced, workload.synced.clone()),
        (NodeCondition::Paused, paused),
        (NodeCondition::RolloutInProgress, rollout(node, workers)),
        (NodeCondition::AgentHealthy, health.state.clone()),
        (NodeCondition::Quarantined, health.quarantined.clone()),
    ];
    let condition = |(type_, state): (NodeCondition, ConditionState)| {
        state.into_condition(type_.as_str(), &before.conditions, generation, now)
    };
    let external = node.spec.management_policy == ManagementPolicy::External;
    let rolled_out =
        workers.filter(|workers| workers.one_revision && workers.observed && workers.existing > 0);
    VmafxNodeStatus {
        healthy: Some(health.healthy),
        stateful_set: workload.tracked.clone(),
        replicas: workers.map(|workers| workers.existing).or((!external).then_some(0)),
        ready_replicas: workers.map(|workers| workers.ready).or((!external).then_some(0)),
        selector: (!external).then(|| selector_text(&workload_name(node))),
        current_image: rolled_out.map_or(before.current_image, |workers| workers.image.clone()),
        observed_generation: generation,
        conditions: states.map(condition).to_vec(),
        last_probe_time: None,
        last_heartbeat: None,
        // The controller takes the field over with the first report of an agent. Until then there is no job.
        assigned_jobs: before.last_heartbeat.is_none().then_some(0),
        detected_device: None,
        quarantine: None,
    }
}

fn paused(node: &VmafxNode, workers: Option<&WorkerCounts>, before: &[Condition]) -> ConditionState {
    workers::paused(
        node.spec.paused,
        workers,
        before,
        |workers| format!("{} finish their jobs or hand them back", count(workers.existing)),
        "no worker is running; set spec.paused to false to start them again",
    )
}

fn rollout(node: &VmafxNode, workers: Option<&WorkerCounts>) -> ConditionState {
    if workers.is_none() && node.spec.management_policy == ManagementPolicy::External {
        return ConditionState::unmet(Reason::External, "");
    }
    workers::rollout(workers)
}

/// The summary: the first obstacle.
fn ready(
    node: &VmafxNode,
    workload: &WorkloadStatus,
    health: &AgentHealth,
    paused: &ConditionState,
) -> ConditionState {
    if workload.synced.status != ConditionStatus::True {
        return ConditionState::unmet(workload.synced.reason, workload.synced.message.clone());
    }
    if node.spec.paused {
        return ConditionState::unmet(paused.reason, paused.message.clone());
    }
    if let Some(workers) = &workload.workers {
        if workers.desired == 0 {
            return ConditionState::unmet(
                Reason::Drained,
                "scaled to zero; set spec.replicas to start workers",
            );
        }
        if !workers.observed || workers.ready < workers.desired {
            return ConditionState::unmet(
                Reason::WorkersStarting,
                format!("{} of {} are ready", workers.ready, count(workers.desired)),
            );
        }
    }
    if health.state.status != ConditionStatus::True {
        return ConditionState::unmet(health.state.reason, health.state.message.clone());
    }
    ConditionState::met(
        Reason::AsExpected,
        workload.workers.as_ref().map_or_else(
            || "agents report in time".to_owned(),
            |workers| format!("{} ready", count(workers.ready)),
        ),
    )
}

/// Events for the transitions between two statuses; the first status is no transition.
pub fn transition_events(before: Option<&VmafxNodeStatus>, after: &VmafxNodeStatus) -> Vec<ResourceEvent> {
    let Some(before) = before else { return Vec::new() };
    let (before, after) = (before.conditions.as_slice(), after.conditions.as_slice());
    let health = transition(before, after, NodeCondition::AgentHealthy.as_str());
    let health = health.and_then(|(old, new)| health_event(old, new));
    let quarantined = transition(before, after, NodeCondition::Quarantined.as_str());
    let quarantined = quarantined.and_then(|(old, new)| quarantine_event(old, new));
    workers::transition_events(before, after).chain(health).chain(quarantined).collect()
}

fn quarantine_event(old: &Condition, new: &Condition) -> Option<ResourceEvent> {
    match new.status {
        ConditionStatus::True => Some(ResourceEvent::warning(Reason::FailingJobs, new.message.clone())),
        ConditionStatus::False if old.status == ConditionStatus::True => {
            Some(ResourceEvent::normal(Reason::AgentsHealthy, "the workers score jobs again"))
        }
        _ => None,
    }
}

fn health_event(old: &Condition, new: &Condition) -> Option<ResourceEvent> {
    match new.status {
        ConditionStatus::True => Some(ResourceEvent::normal(
            Reason::AgentsHealthy,
            format!("{}; the reason was {}", new.message, old.reason),
        )),
        ConditionStatus::False => {
            let published = [Reason::HeartbeatStale, Reason::ProbeFailed];
            let reason = published.into_iter().find(|reason| new.reason == reason.as_str())?;
            Some(ResourceEvent::warning(reason, new.message.clone()))
        }
        ConditionStatus::Unknown => None,
    }
}

#[cfg(test)]
mod tests;
