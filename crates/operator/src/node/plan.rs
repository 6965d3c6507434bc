//! What to do about a VmafxNode, and why. Pure.

use k8s_openapi::jiff::Timestamp;
use vmafx_api::VmafxNode;
use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::node::ManagementPolicy;

use super::health::{AgentHealth, AgentSignals, RECHECK_INTERVAL, judge};
use super::observe::ObservedNode;
use super::probe::ControllerProbe;
use crate::render::RenderError;
use crate::runtime::RequeueAfter;
use crate::workload::{self, DesiredWorkload, TracksWorkload as _, WorkloadPlan};

#[derive(Clone, Debug, PartialEq)]
pub struct NodePlan {
    pub workload: WorkloadPlan,
    pub health: AgentHealth,
    /// When the controller answered the probe that the health is judged by, or did not.
    pub probed_at: Option<Timestamp>,
}

pub fn plan(
    node: &VmafxNode,
    desired: &Result<DesiredWorkload, RenderError>,
    observed: &ObservedNode,
    now: Timestamp,
) -> NodePlan {
    let workload = match node.spec.management_policy {
        ManagementPolicy::External => workload::external(&observed.workload),
        ManagementPolicy::Managed => workload::plan(desired, &observed.workload),
    };
    let health = match &observed.controller {
        Some(probed) => health(node, &probed.probe, now),
        None => AgentHealth::without_agents(Reason::Drained, "the spec asks for no workers"),
    };
    NodePlan { workload, health, probed_at: observed.controller.as_ref().map(|probed| probed.at) }
}

impl NodePlan {
    pub fn requeue_after(&self) -> RequeueAfter {
        let workload = self.workload.requeue_after().unwrap_or(RECHECK_INTERVAL);
        RequeueAfter(workload.min(self.health.recheck_after))
    }
}

fn health(node: &VmafxNode, probe: &ControllerProbe, now: Timestamp) -> AgentHealth {
    let resumed = resumed_at(node);
    let created = node.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let heartbeat = node.status.as_ref().and_then(|status| status.last_heartbeat.as_ref());
    let signals = AgentSignals {
        started: created.max(resumed),
        // A heartbeat from before a pause says nothing about the agents that came after it.
        heartbeat: heartbeat.map(|time| time.0).filter(|time| resumed.is_none_or(|resumed| *time >= resumed)),
        probe,
        quarantine: node.status.as_ref().and_then(|status| status.quarantine.as_ref()),
    };
    judge(&signals, now)
}

/// When the node last came back from a pause.
fn resumed_at(node: &VmafxNode) -> Option<Timestamp> {
    let paused = node.conditions().iter().find(|one| one.type_ == NodeCondition::Paused.as_str());
    paused.filter(|one| one.reason == Reason::Resumed.as_str()).map(|one| one.last_transition_time.0)
}

#[cfg(test)]
pub(super) mod tests;
