//! One pass over a node: observe, sync, judge, and write the status if it changed.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, ResourceExt as _};
use vmafx_api::conditions::{NodeCondition, Reason};
use vmafx_api::node::ManagementPolicy;
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{ConditionStatus, VmafxNode, VmafxNodeStatus};

use super::Seen;
use super::health::{Health, Known, LOOK_EVERY, judge};
use super::probe::Prober;
use super::render::name::workload_name;
use super::render::{Defaults, render};
use super::status::{Found, Workers, happenings, status};
use crate::conditions::Statement;
use crate::error::{Retry, call, chain};
use crate::events::{Happening, Recorder};
use crate::key::ObjectKey;
use crate::runtime::{Cache, Failure, Kind, Next, Reconcile};
use crate::workload::{self, Children, Ensured, Facts, Owner, Workloads};

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

/// What came of making everything as it should be.
struct Pass {
    tracked: Option<StatefulSetRef>,
    synced: Statement,
    live: Option<Arc<Facts>>,
    happening: Option<Happening>,
    again: Duration,
    failure: Option<Failure>,
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
        let workers = pass.live.as_deref().map(workers);
        let found = Found { tracked: pass.tracked, synced: pass.synced, workers, health };
        let after = status(node, found, now);
        if !self.write(node, &after).await? {
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
        let made = ObjectKey::new(key.namespace.clone(), workload_name(&key.name));
        self.workloads.forget(&made);
        self.services.forget(&made);
        self.budgets.forget(&made);
    }

    /// Makes Service, budget and StatefulSet as they should be. What goes wrong is said by the status too, unless it is
    /// over by the next try.
    async fn sync(&self, node: &VmafxNode) -> Result<Pass, Failure> {
        match self.make(node).await {
            Ok(pass) => Ok(pass),
            Err(failure) if failure.retry == Retry::Soon => Err(failure),
            Err(failure) => Ok(Pass {
                tracked: node.status.as_ref().and_then(|status| status.stateful_set.clone()),
                synced: Statement::no(failure.reason, chain(failure.source.as_ref())),
                live: self.workloads.known(&stateful_set_key(node)),
                happening: None,
                again: LOOK_EVERY,
                failure: Some(failure),
            }),
        }
    }

    async fn make(&self, node: &VmafxNode) -> Result<Pass, Failure> {
        let wanted = render(node, &self.defaults).map_err(|error| Failure {
            reason: Reason::Invalid,
            retry: Retry::Slowly,
            source: error.into(),
        })?;
        let owner = Owner::of(node);
        let beside = [
            self.services.ensure(&owner, &wanted.service).await?,
            self.budgets.ensure(&owner, &wanted.budget).await?,
        ];
        let fresh = || async {
            let api: Api<VmafxNode> = Api::namespaced(self.client.clone(), &owner.key.namespace);
            let live = call("read the VmafxNode", api.get_opt(&owner.key.name)).await?;
            Ok(live.as_ref().map(seen))
        };
        let synced = self.workloads.sync(&seen(node), &wanted.stateful_set, fresh).await?;
        let problem = beside.into_iter().find_map(|ensured| match ensured {
            Ensured::Not(statement) => Some(statement),
            Ensured::AsWanted | Ensured::Left => None,
        });
        let statement = match problem {
            Some(problem) if synced.statement.status == ConditionStatus::True => problem,
            _ => synced.statement,
        };
        Ok(Pass {
            tracked: synced.tracked,
            synced: statement,
            live: synced.live,
            happening: synced.happening,
            again: synced.again,
            failure: None,
        })
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

    /// Writes the status if it changed. `false`: the node is gone.
    async fn write(&self, node: &VmafxNode, after: &VmafxNodeStatus) -> Result<bool, Failure> {
        if node.status.as_ref().map(ours).as_ref() == Some(after) {
            return Ok(true);
        }
        match crate::status::apply(&self.client, node, after).await? {
            Some(written) => {
                self.nodes.put(Seen::from(written));
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

fn external() -> Pass {
    Pass {
        tracked: None,
        synced: Statement::yes(Reason::External, "somebody else runs the workers"),
        live: None,
        happening: None,
        again: LOOK_EVERY,
        failure: None,
    }
}

/// What the lifecycle of a workload needs of a node.
fn seen(node: &VmafxNode) -> workload::Seen {
    let status = node.status.as_ref();
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    let synced = conditions.iter().find(|one| one.type_ == NodeCondition::WorkloadSynced.as_str());
    workload::Seen {
        owner: Owner::of(node),
        tracked: status.and_then(|status| status.stateful_set.clone()),
        said: synced.map(|condition| condition.reason.clone()),
    }
}

fn stateful_set_key(node: &VmafxNode) -> ObjectKey {
    ObjectKey::new(node.namespace().unwrap_or_default(), workload_name(&node.name_any()))
}

/// When its agents could first be heard of.
fn begun(node: &VmafxNode) -> Option<Timestamp> {
    let created = node.metadata.creation_timestamp.as_ref().map(|time| time.0);
    created.max(resumed(node))
}

/// When it was last brought back from a pause.
fn resumed(node: &VmafxNode) -> Option<Timestamp> {
    let conditions = node.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let paused = conditions.iter().find(|one| one.type_ == NodeCondition::Paused.as_str());
    paused.filter(|one| one.reason == Reason::Resumed.as_str()).map(|one| one.last_transition_time.0)
}

/// The part of a status that is the operator's.
fn ours(status: &VmafxNodeStatus) -> VmafxNodeStatus {
    VmafxNodeStatus { last_heartbeat: None, assigned_jobs: None, detected_device: None, ..status.clone() }
}

fn workers(facts: &Facts) -> Workers {
    let numbers = &facts.numbers;
    Workers {
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
