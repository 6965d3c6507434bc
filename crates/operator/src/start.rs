//! From settings to a running operator.
//!
//! Every operator watches, so that it knows everything when its turn comes, and serves webhooks, health and metrics. Only
//! the one that leads reconciles.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{Client, Resource};
use tokio::sync::watch;
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};
use vmafx_kit::config::{Environment, ListenAddr};
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, Shutdown, TaskSet};

use crate::client::{self, ClientMetrics};
use crate::crds;
use crate::events::Recorder;
use crate::job;
use crate::job::in_pod::PodJobs;
use crate::job::in_pod::snapshot::{BatchJobSnapshot, PodSnapshot};
use crate::job::metrics::JobMetrics;
use crate::job::start::Jobs;
use crate::key::ObjectKey;
use crate::lease::{Election, LeaseMetrics, Permit, identity};
use crate::node::probe::Prober;
use crate::node::{self, NodeReconciler};
use crate::render::{Family, NODE, TRAINER};
use crate::runtime::{Cache, Cached, Controller, Kind, Reconcile, RuntimeMetrics, Teller, Watch};
use crate::settings::{Command, Settings};
use crate::training::poll::Poller;
use crate::training::{self, TrainingReconciler};
use crate::webhook;
use crate::workload::{Children, ControllerRef, Facts, Plain, WorkloadMetrics, Workloads};

/// Does what was asked for: adds everything that an operator does, or installs definitions and adds nothing.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let config = kube::Config::infer().await?;
    match settings.command.unwrap_or_default() {
        Command::Run => run(settings, config, tasks).await,
        Command::InstallCrds => Ok(crds::install(Client::try_from(config)?).await?),
    }
}

async fn run(settings: Settings, config: kube::Config, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let namespace = settings.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    let mut registry = Metrics::new(env!("CARGO_PKG_VERSION"));
    let readiness = Readiness::new(tasks.shutdown());
    let (counts, leases) = (ClientMetrics::new(&mut registry), LeaseMetrics::new(&mut registry));
    let lease = settings.lease.settings()?;
    let name = identity(&Environment::of_process());

    let free = client::build(&config, Permit::always(), &counts)?;
    let election =
        lease.map(|lease| Election::new(free.clone(), &namespace, lease, name.clone(), leases.clone()));
    let permit = election.as_ref().map_or_else(Permit::always, Election::permit);
    let gated = client::build(&config, permit, &counts)?;

    let controller = settings.controller.http(&namespace)?;
    let grpc = settings.controller.grpc(&namespace)?;
    let channel = settings.controller.channel.open(&grpc)?;
    let runtime = RuntimeMetrics::new(&mut registry);
    let watched = Watched::start(&free, &readiness, &runtime, tasks);
    let decisions = WorkloadMetrics::new(&mut registry);
    let recorder = Recorder::new(gated.clone(), name, &mut registry);
    let ca_file = settings.controller.channel.controller_ca_file.as_deref();
    let nodes = NodeReconciler {
        client: gated.clone(),
        nodes: watched.nodes.clone(),
        workloads: Workloads::new(gated.clone(), watched.sets.clone(), decisions.clone()),
        services: Children::new(gated.clone(), watched.services.clone()),
        budgets: Children::new(gated.clone(), watched.budgets.clone()),
        prober: Arc::new(Prober::new(
            http_client(ca_file, controller.scheme() == "https").await?,
            &controller,
        )),
        recorder: recorder.clone(),
        defaults: settings.defaults(&grpc),
    };
    let asked_at = settings.trainers.trainer_url.clone();
    let trainings = TrainingReconciler {
        client: gated.clone(),
        trainings: watched.trainings.clone(),
        workloads: Workloads::new(gated.clone(), watched.sets.clone(), decisions),
        services: Children::new(gated.clone(), watched.services.clone()),
        poller: Poller::new(
            http_client(None, asked_at.is_https()).await?,
            asked_at,
            settings.trainers.poll()?,
        ),
        recorder: recorder.clone(),
        defaults: settings.trainer_defaults(&grpc),
    };
    let jobs = Jobs {
        client: gated.clone(),
        cache: watched.jobs.clone(),
        pods: PodJobs {
            client: gated,
            jobs: watched.batch_jobs.clone(),
            pods: watched.pods.clone(),
            defaults: settings.job_defaults(),
        },
        teller: watched.tellers.jobs.clone(),
        channel,
        cluster: settings.controller.cluster.clone(),
        recorder,
        at_once: settings.concurrency,
        metrics: JobMetrics::new(&mut registry),
        runtime: runtime.clone(),
    };
    let reconcilers = Reconcilers { jobs, nodes: Arc::new(nodes), trainings: Arc::new(trainings) };
    webhook::start(&settings.webhook, &namespace, free, &readiness, &mut registry, tasks).await?;
    pages(&settings, readiness, registry, tasks).await?;

    let at_once = settings.concurrency;
    let work =
        move |shutdown| reconcile(watched.clone(), reconcilers.clone(), at_once, runtime.clone(), shutdown);
    let shutdown = tasks.shutdown();
    if let Some(election) = election {
        tasks.service("leader", election.lead(shutdown, work));
    } else {
        leases.alone();
        tasks.service("reconcilers", work(shutdown));
    }
    Ok(())
}

/// One for each kind of ours.
#[derive(Clone)]
struct Reconcilers {
    jobs: Jobs,
    nodes: Arc<NodeReconciler>,
    trainings: Arc<TrainingReconciler>,
}

/// The ways to their controllers.
#[derive(Clone, Default)]
struct Tellers {
    jobs: Teller,
    nodes: Teller,
    trainings: Teller,
}

/// What is known of each kind.
#[derive(Clone)]
struct Watched {
    jobs: Cache<job::CachedJob>,
    batch_jobs: Cache<BatchJobSnapshot>,
    pods: Cache<PodSnapshot>,
    nodes: Cache<node::Seen>,
    trainings: Cache<training::Seen>,
    sets: Cache<Facts>,
    services: Cache<Plain>,
    budgets: Cache<Plain>,
    tellers: Tellers,
    listed: Vec<watch::Receiver<bool>>,
}

impl Watched {
    /// Starts the watches.
    fn start(client: &Client, readiness: &Readiness, metrics: &RuntimeMetrics, tasks: &mut TaskSet) -> Self {
        let tellers = Tellers::default();
        let of_node = |key: ObjectKey, controller: Option<&ControllerRef>| {
            concerned::<VmafxNode>(NODE, &key, controller)
        };
        let of_training = |key: ObjectKey, controller: Option<&ControllerRef>| {
            concerned::<VmafxModelTraining>(TRAINER, &key, controller)
        };
        let nodes = Watch::new(Kind::Node, client.clone(), <node::Seen as From<VmafxNode>>::from)
            .tells(tellers.nodes.clone(), |node| vec![node.key()]);
        let project = <training::Seen as From<VmafxModelTraining>>::from;
        let trainings = Watch::new(Kind::Training, client.clone(), project)
            .tells(tellers.trainings.clone(), |training| vec![training.key()]);
        let sets = Watch::new(Kind::StatefulSet, client.clone(), <Facts as From<StatefulSet>>::from)
            .tells(tellers.nodes.clone(), move |set| of_node(set.key(), set.controller.as_ref()))
            .tells(tellers.trainings.clone(), move |set| of_training(set.key(), set.controller.as_ref()));
        let services = Watch::new(Kind::Service, client.clone(), Plain::of::<Service>)
            .tells(tellers.nodes.clone(), move |one| of_node(one.key(), one.controller.as_ref()))
            .tells(tellers.trainings.clone(), move |one| of_training(one.key(), one.controller.as_ref()));
        let budgets = Watch::new(Kind::PodDisruptionBudget, client.clone(), Plain::of::<PodDisruptionBudget>)
            .tells(tellers.nodes.clone(), move |one| of_node(one.key(), one.controller.as_ref()));
        let jobs = Watch::new(Kind::Job, client.clone(), <job::CachedJob as From<VmafxJob>>::from)
            .tells(tellers.jobs.clone(), |job| vec![job.key()]);
        let batch_jobs = job::in_pod::watch::jobs(client.clone(), tellers.jobs.clone());
        let pods = job::in_pod::watch::pods(client.clone(), tellers.jobs.clone());
        let watched = Self {
            jobs: jobs.cache(),
            batch_jobs: batch_jobs.cache(),
            pods: pods.cache(),
            nodes: nodes.cache(),
            trainings: trainings.cache(),
            sets: sets.cache(),
            services: services.cache(),
            budgets: budgets.cache(),
            tellers,
            listed: vec![
                jobs.listed(),
                batch_jobs.listed(),
                pods.listed(),
                nodes.listed(),
                trainings.listed(),
                sets.listed(),
                services.listed(),
                budgets.listed(),
            ],
        };
        let gate = |name| readiness.gate(name, "is being listed");
        let ends = tasks.shutdown();
        let (metrics, shutdown) = (|| metrics.clone(), || ends.clone());
        tasks.service("watch-jobs", jobs.run(gate("vmafxjobs"), metrics(), shutdown()));
        tasks.service("watch-batch-jobs", batch_jobs.run(gate("jobs"), metrics(), shutdown()));
        tasks.service("watch-pods", pods.run(gate("pods"), metrics(), shutdown()));
        tasks.service("watch-nodes", nodes.run(gate("vmafxnodes"), metrics(), shutdown()));
        tasks.service("watch-trainings", trainings.run(gate("vmafxmodeltrainings"), metrics(), shutdown()));
        tasks.service("watch-statefulsets", sets.run(gate("statefulsets"), metrics(), shutdown()));
        tasks.service("watch-services", services.run(gate("services"), metrics(), shutdown()));
        tasks.service("watch-budgets", budgets.run(gate("poddisruptionbudgets"), metrics(), shutdown()));
        watched
    }

    /// Until everything is known once: before that, what is not known yet would look as if it were not there.
    async fn complete(&self) {
        join_all(self.listed.iter().map(async |listed| drop(listed.clone().wait_for(|done| *done).await)))
            .await;
    }
}

/// The resources of a kind that a changed object concerns: the one that owns it, and the one that would make it: a
/// namesake that nobody owns stands in that one's way.
fn concerned<K: Resource<DynamicType = ()>>(
    family: Family,
    key: &ObjectKey,
    controller: Option<&ControllerRef>,
) -> Vec<ObjectKey> {
    let owner = controller.filter(|owner| owner.kind == K::kind(&())).map(|owner| owner.name.as_str());
    let names: BTreeSet<_> = owner.into_iter().chain(family.resource_of(&key.name)).collect();
    names.into_iter().map(|name| ObjectKey::new(key.namespace.clone(), name)).collect()
}

/// Reconciles until shutdown.
async fn reconcile(
    watched: Watched,
    reconcilers: Reconcilers,
    at_once: usize,
    metrics: RuntimeMetrics,
    shutdown: Shutdown,
) -> Result<(), BoxError> {
    if shutdown.cuts(watched.complete()).await.is_none() {
        return Ok(());
    }
    let Tellers { nodes, trainings, .. } = &watched.tellers;
    let nodes = Control { teller: nodes, known: &watched.nodes, at_once, metrics: metrics.clone() };
    let trainings = Control { teller: trainings, known: &watched.trainings, at_once, metrics };
    tokio::try_join!(
        nodes.run(reconcilers.nodes, shutdown.clone()),
        trainings.run(reconcilers.trainings, shutdown.clone()),
        reconcilers.jobs.lead(shutdown)
    )?;
    Ok(())
}

/// What the controller of one kind needs.
struct Control<'a, V> {
    teller: &'a Teller,
    known: &'a Cache<V>,
    at_once: usize,
    metrics: RuntimeMetrics,
}

impl<V: Cached> Control<'_, V> {
    /// Reconciles all that is known, and then what changes.
    async fn run<R: Reconcile>(self, reconciler: Arc<R>, shutdown: Shutdown) -> Result<(), BoxError> {
        // First the ear, then the look: what changes in between is heard.
        let inbox = self.teller.listen();
        let first: Vec<_> = self.known.all().iter().map(|one| one.key()).collect();
        Controller::new(reconciler, self.at_once, inbox, self.metrics).run(first, shutdown).await?;
        Ok(())
    }
}

/// For questions to the controller, or to trainers. One for all of them: connections are used again.
pub(crate) async fn http_client(ca_file: Option<&Path>, https: bool) -> Result<reqwest::Client, BoxError> {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let builder = match ca_file {
        Some(file) => {
            let pem = tokio::fs::read(file).await.map_err(|error| {
                format!("cannot read {} (VMAFX_CONTROLLER_CA_FILE): {error}", file.display())
            })?;
            builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(&pem)?)
        }
        None if https => builder,
        // A minimal image knows no authorities, and here none is needed.
        None => builder.tls_certs_only([]),
    };
    Ok(builder.build()?)
}

/// Health and metrics. They are there until everything else has ended.
async fn pages(
    settings: &Settings,
    readiness: Readiness,
    registry: Metrics,
    tasks: &mut TaskSet,
) -> Result<(), BoxError> {
    let health = health::router(readiness);
    page("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "health", &settings.health_probe_addr, health, tasks).await?;
    let metrics = metrics::router(Arc::new(registry));
    page("VMAFX_OPERATOR_METRICS_ADDR", "metrics", &settings.metrics_addr, metrics, tasks).await
}

async fn page(
    variable: &'static str,
    name: &'static str,
    address: &ListenAddr,
    router: Router,
    tasks: &mut TaskSet,
) -> Result<(), BoxError> {
    if let Some(listener) = listen(variable, address).await? {
        tasks.support(name, |last| serve(listener, router, last));
    }
    Ok(())
}
