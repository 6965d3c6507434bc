//! One pass over a node: observe, sync, judge, and write the status if it changed.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::jiff::Timestamp;
use kube::{Client, ResourceExt as _};
use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::node::ManagementPolicy;
use vmafx_api::{VmafxNode, VmafxNodeStatus};

use super::Seen;
use super::health::{Health, Known, LOOK_EVERY, judge};
use super::probe::Prober;
use super::render::{Defaults, render, workload_name};
use super::status::{Found, happenings, status};
use crate::conditions::Statement;
use crate::events::Recorder;
use crate::key::ObjectKey;
use crate::render::NODE;
use crate::runtime::{Cache, Failure, Kind, Next, Reconcile};
use crate::status::update;
use crate::workload::{self, Children, Made, Tracks as _, Workers, Workloads};

/// Reconciles nodes.
pub struct NodeReconciler {
    /// The way to the API server.
    pub client: Client,
    /// What is known of them.
    pub nodes: Cache<Seen>,
    /// Their StatefulSets.
    pub workloads: Workloads,
    /// Their Services.
    pub services: Children<Service>,
    /// Their budgets.
    pub budgets: Children<PodDisruptionBudget>,
    /// Asks the controller how it is.
    pub prober: Arc<Prober>,
    /// Tells people.
    pub recorder: Recorder,
    /// What workers are made from.
    pub defaults: Defaults,
}

impl Reconcile for NodeReconciler {
    const KIND: Kind = Kind::Node;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<Next>, Failure> {
        let Some(seen) = self.nodes.get(key) else {
            self.forget(key);
            return Ok(None);
        };
        let node = &seen.0;
        if node.metadata.deletion_timestamp.is_some() {
            // What belongs to it goes by its owner references.
            return Ok(None);
        }
        let pass = match node.spec.management_policy {
            ManagementPolicy::External => external(),
            ManagementPolicy::Managed => self.sync(node).await?,
        };
        let now = Timestamp::now();
        let health = self.health(node, now).await;
        let again = pass.again.min(health.again);
        let workers = pass.live.as_deref().map(Workers::from);
        let found = Found { tracked: pass.tracked, synced: pass.synced, workers, health };
        let after = status(node, found, now);
        let before = node.status.as_ref().map(ours);
        if !update(&self.client, &self.nodes, node, before.as_ref(), &after).await? {
            return Ok(None);
        }
        for happening in pass.happening.into_iter().chain(happenings(node.status.as_ref(), &after)) {
            self.recorder.tell(node, &happening).await;
        }
        pass.failure.map_or(Ok(Some(Next(again))), Err)
    }
}

impl NodeReconciler {
    fn forget(&self, key: &ObjectKey) {
        let made = ObjectKey::new(key.namespace.clone(), NODE.workload(&key.name));
        self.workloads.forget(&made);
        self.services.forget(&made);
        self.budgets.forget(&made);
    }

    /// Makes Service, budget and StatefulSet as they should be.
    async fn sync(&self, node: &VmafxNode) -> Result<Made, Failure> {
        match self.make(node).await {
            Ok(made) => Ok(made),
            Err(failure) => {
                let set = ObjectKey::new(node.namespace().unwrap_or_default(), workload_name(node));
                Made::failed(failure, node, self.workloads.known(&set), LOOK_EVERY)
            }
        }
    }

    async fn make(&self, node: &VmafxNode) -> Result<Made, Failure> {
        let wanted = render(node, &self.defaults).map_err(Failure::invalid)?;
        let seen = workload::Seen::of(node);
        let beside = [
            self.services.ensure(&seen.owner, &wanted.service).await?,
            self.budgets.ensure(&seen.owner, &wanted.budget).await?,
        ];
        let fresh = || workload::Seen::fresh::<VmafxNode>(&self.client, &seen.owner.key);
        let synced = self.workloads.sync(&seen, &wanted.stateful_set, fresh).await?;
        Ok(Made::of(synced, beside))
    }

    async fn health(&self, node: &VmafxNode, now: Timestamp) -> Health {
        if node.spec.paused || node.spec.replicas == 0 {
            return Health::away(Reason::Drained, "no workers are wanted");
        }
        let heartbeat = node.status.as_ref().and_then(|status| status.last_heartbeat.as_ref());
        let begun = begun(node);
        let known = Known {
            created: begun,
            // What was heard of before a pause says nothing about what came after it.
            heartbeat: heartbeat
                .map(|time| time.0)
                .filter(|heard| resumed(node).is_none_or(|at| *heard >= at)),
            probe: &self.prober.ask().await,
        };
        judge(&known, now)
    }
}

fn external() -> Made {
    Made {
        tracked: None,
        synced: Statement::yes(Reason::External, "somebody else runs the workers"),
        live: None,
        happening: None,
        again: LOOK_EVERY,
        failure: None,
    }
}

/// When its agents could first be heard of.
fn begun(node: &VmafxNode) -> Option<Timestamp> {
    let created = node.metadata.creation_timestamp.as_ref().map(|time| time.0);
    created.max(resumed(node))
}

/// When it was last brought back from a pause.
fn resumed(node: &VmafxNode) -> Option<Timestamp> {
    let paused = node.conditions().iter().find(|one| one.type_ == NodeCondition::Paused.as_str());
    paused.filter(|one| one.reason == Reason::Resumed.as_str()).map(|one| one.last_transition_time.0)
}

/// The part of a status that is the operator's.
fn ours(status: &VmafxNodeStatus) -> VmafxNodeStatus {
    VmafxNodeStatus { last_heartbeat: None, assigned_jobs: None, detected_device: None, ..status.clone() }
}
