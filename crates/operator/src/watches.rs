//! Every kind that the operator watches, each declared once in [`Watches::start`]: its label in metrics, the name of its
//! readiness gate and task, its label selector, what is cached of an object, and the reconcilers that a change concerns.

use std::collections::BTreeSet;
use std::fmt::Debug;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};
use vmafx_kit::health::Readiness;
use vmafx_kit::tasks::TaskSet;

use crate::controllers::{ReconciledKind, ReconciledKinds};
use crate::job;
use crate::job::in_pod::snapshot::{BatchJobSnapshot, PodSnapshot};
use crate::key::ObjectKey;
use crate::node::CachedNode;
use crate::render::{NODE, TRAINER, WorkloadFamily};
use crate::reserved::ACCOUNT_LABEL;
use crate::runtime::{Cache, Cached, Notifier, RuntimeMetrics, Watch, WatchedKind};
use crate::training::CachedTraining;
use crate::workload::{ChildSnapshot, Snapshot, StatefulSetSnapshot, WorkloadCaches};

/// The caches that the watches fill, and the notifiers of the reconcilers that they wake.
#[derive(Clone)]
pub(crate) struct Watches {
    pub(crate) jobs: Cache<job::CachedJob>,
    pub(crate) batch_jobs: Cache<BatchJobSnapshot>,
    pub(crate) pods: Cache<PodSnapshot>,
    pub(crate) nodes: Cache<CachedNode>,
    pub(crate) trainings: Cache<CachedTraining>,
    pub(crate) workloads: WorkloadCaches,
    pub(crate) notifiers: Notifiers,
    listed: Vec<watch::Receiver<bool>>,
}

#[derive(Clone, Default)]
pub(crate) struct Notifiers {
    pub(crate) jobs: Notifier,
    pub(crate) nodes: Notifier,
    pub(crate) trainings: Notifier,
}

impl Watches {
    pub(crate) fn start(
        client: &Client,
        kinds: &ReconciledKinds,
        readiness: &Readiness,
        metrics: &RuntimeMetrics,
        tasks: &mut TaskSet,
    ) -> Self {
        let notifiers = Notifiers::default();
        let Notifiers { jobs, nodes, trainings } = &notifiers;
        let mut registry = Registry { readiness, metrics, tasks, listed: Vec::new() };
        let (of_jobs, of_nodes, of_trainings) = (
            kinds.includes(ReconciledKind::Job),
            kinds.includes(ReconciledKind::Node),
            kinds.includes(ReconciledKind::Training),
        );
        let of_workloads = kinds.has_workloads();
        Self {
            jobs: registry.start_if(
                of_jobs,
                "vmafxjobs",
                Watch::new(WatchedKind::Job, client.clone(), <job::CachedJob as From<VmafxJob>>::from)
                    .notifies(jobs.clone(), own_key),
            ),
            batch_jobs: registry.start_if(
                of_jobs,
                "jobs",
                job::in_pod::watch::jobs(client.clone(), jobs.clone()),
            ),
            pods: registry.start_if(of_jobs, "pods", job::in_pod::watch::pods(client.clone(), jobs.clone())),
            nodes: registry.start_if(
                of_nodes,
                "vmafxnodes",
                Watch::new(WatchedKind::Node, client.clone(), <CachedNode as From<VmafxNode>>::from)
                    .notifies(nodes.clone(), own_key),
            ),
            trainings: registry.start_if(
                of_trainings,
                "vmafxmodeltrainings",
                Watch::new(
                    WatchedKind::Training,
                    client.clone(),
                    <CachedTraining as From<VmafxModelTraining>>::from,
                )
                .notifies(trainings.clone(), own_key),
            ),
            workloads: WorkloadCaches {
                // A missing one is found by the next pass over a resource of its namespace.
                accounts: registry.start_if(
                    true,
                    "serviceaccounts",
                    Watch::new(
                        WatchedKind::ServiceAccount,
                        client.clone(),
                        ChildSnapshot::of::<ServiceAccount>,
                    )
                    .labelled(ACCOUNT_LABEL),
                ),
                stateful_sets: registry.start_if(
                    of_workloads,
                    "statefulsets",
                    Watch::new(
                        WatchedKind::StatefulSet,
                        client.clone(),
                        <StatefulSetSnapshot as From<StatefulSet>>::from,
                    )
                    .notifies(nodes.clone(), concerned::<VmafxNode, _>(NODE))
                    .notifies(trainings.clone(), concerned::<VmafxModelTraining, _>(TRAINER)),
                ),
                services: registry.start_if(
                    of_workloads,
                    "services",
                    Watch::new(WatchedKind::Service, client.clone(), ChildSnapshot::of::<Service>)
                        .notifies(nodes.clone(), concerned::<VmafxNode, _>(NODE))
                        .notifies(trainings.clone(), concerned::<VmafxModelTraining, _>(TRAINER)),
                ),
                budgets: registry.start_if(
                    of_nodes,
                    "poddisruptionbudgets",
                    Watch::new(
                        WatchedKind::PodDisruptionBudget,
                        client.clone(),
                        ChildSnapshot::of::<PodDisruptionBudget>,
                    )
                    .notifies(nodes.clone(), concerned::<VmafxNode, _>(NODE)),
                ),
            },
            listed: registry.listed,
            notifiers,
        }
    }

    /// Waits until every kind was listed once: before that, an object that is not listed yet would look absent.
    pub(crate) async fn complete(&self) {
        join_all(self.listed.iter().map(async |listed| drop(listed.clone().wait_for(|done| *done).await)))
            .await;
    }
}

struct Registry<'a> {
    readiness: &'a Readiness,
    metrics: &'a RuntimeMetrics,
    tasks: &'a mut TaskSet,
    listed: Vec<watch::Receiver<bool>>,
}

impl Registry<'_> {
    /// Starts a watch as a task; `resource` names its readiness gate, which opens when the first list is complete. A kind that
    /// nothing here needs is not watched, because the role may not permit it: its cache stays empty.
    fn start_if<K, V>(&mut self, needed: bool, resource: &'static str, watch: Watch<K, V>) -> Cache<V>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
        V: Cached,
    {
        let cache = watch.cache();
        if !needed {
            return cache;
        }
        self.listed.push(watch.listed());
        let gate = self.readiness.gate(resource, "is being listed");
        let run = watch.run(gate, self.metrics.clone(), self.tasks.shutdown());
        self.tasks.service(format!("watch-{resource}"), run);
        cache
    }
}

fn own_key(resource: &impl Cached) -> Vec<ObjectKey> {
    vec![resource.key()]
}

/// The resources of kind `R` that a changed object concerns: the one that owns it, and the one that would create an
/// object of this name, because an object of another owner stands in its way.
fn concerned<R: Resource<DynamicType = ()>, S: Snapshot>(
    family: WorkloadFamily,
) -> impl Fn(&S) -> Vec<ObjectKey> + Send + Sync + 'static {
    move |object| {
        let ObjectKey { namespace, name } = &object.identity().key;
        let owner = object.controller().filter(|owner| owner.kind == R::kind(&()));
        let owner = owner.map(|owner| owner.name.as_str());
        let names: BTreeSet<_> = owner.into_iter().chain(family.resource_of(name)).collect();
        names.into_iter().map(|name| ObjectKey::new(namespace.clone(), name)).collect()
    }
}
