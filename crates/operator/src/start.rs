//! From settings to a running operator.
//!
//! Every operator watches, so that it knows everything when its turn comes, and serves webhooks, health and metrics. Only
//! the one that leads reconciles.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{Client, Resource as _};
use tokio::sync::watch;
use url::Url;
use vmafx_api::{VmafxJob, VmafxNode};
use vmafx_kit::config::{Environment, ListenAddr};
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, Shutdown, TaskSet};

use crate::client::{self, ClientMetrics};
use crate::events::Recorder;
use crate::job;
use crate::job::metrics::JobMetrics;
use crate::job::pod::PodJobs;
use crate::job::pod::facts::{JobFacts, PodFacts};
use crate::job::start::Jobs;
use crate::key::ObjectKey;
use crate::lease::{Election, LeaseMetrics, Permit, identity};
use crate::node::probe::Prober;
use crate::node::render::name::node_of;
use crate::node::{NodeReconciler, Seen};
use crate::runtime::{Cache, Cached as _, Controller, Kind, RuntimeMetrics, Teller, Watch};
use crate::settings::Settings;
use crate::webhook;
use crate::workload::{Children, ControllerRef, Facts, Plain, WorkloadMetrics, Workloads};

/// Adds everything that an operator does.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let config = kube::Config::infer().await?;
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
    let recorder = Recorder::new(gated.clone(), name, &mut registry);
    let reconciler = Arc::new(NodeReconciler {
        client: gated.clone(),
        nodes: watched.nodes.clone(),
        workloads: Workloads::new(gated.clone(), watched.sets.clone(), WorkloadMetrics::new(&mut registry)),
        services: Children::new(gated.clone(), watched.services.clone()),
        budgets: Children::new(gated.clone(), watched.budgets.clone()),
        prober: Arc::new(Prober::new(http_client(&settings, &controller).await?, &controller)),
        recorder: recorder.clone(),
        defaults: settings.defaults(&grpc),
    });
    let jobs = Jobs {
        client: gated.clone(),
        cache: watched.jobs.clone(),
        pods: PodJobs {
            client: gated,
            jobs: watched.batch_jobs.clone(),
            pods: watched.pods.clone(),
            defaults: settings.job_defaults(),
        },
        teller: watched.job_teller.clone(),
        channel,
        cluster: settings.controller.cluster.clone(),
        recorder,
        at_once: settings.concurrency,
        metrics: JobMetrics::new(&mut registry),
        runtime: runtime.clone(),
    };
    webhook::start(&settings.webhook, &namespace, free, &readiness, &mut registry, tasks).await?;
    pages(&settings, readiness, registry, tasks).await?;

    let at_once = settings.concurrency;
    let work = move |shutdown| {
        reconcile(watched.clone(), Arc::clone(&reconciler), jobs.clone(), at_once, runtime.clone(), shutdown)
    };
    let shutdown = tasks.shutdown();
    if let Some(election) = election {
        tasks.service("leader", election.lead(shutdown, work));
    } else {
        leases.alone();
        tasks.service("reconcilers", work(shutdown));
    }
    Ok(())
}

/// What is known of each kind.
#[derive(Clone)]
struct Watched {
    nodes: Cache<Seen>,
    sets: Cache<Facts>,
    services: Cache<Plain>,
    budgets: Cache<Plain>,
    teller: Teller,
    jobs: Cache<job::Seen>,
    batch_jobs: Cache<JobFacts>,
    pods: Cache<PodFacts>,
    job_teller: Teller,
    listed: Vec<watch::Receiver<bool>>,
}

impl Watched {
    /// Starts the watches. A changed object concerns the node that owns it, and the one that would make it: a namesake
    /// that nobody owns stands in that one's way.
    fn start(client: &Client, readiness: &Readiness, metrics: &RuntimeMetrics, tasks: &mut TaskSet) -> Self {
        let teller = Teller::default();
        let concerned = |key: ObjectKey, controller: Option<&ControllerRef>| {
            let owner =
                controller.filter(|owner| owner.kind == VmafxNode::kind(&())).map(|owner| owner.name.clone());
            let namesake = node_of(&key.name).map(str::to_owned);
            let names: BTreeSet<_> = owner.into_iter().chain(namesake).collect();
            names.into_iter().map(|name| ObjectKey::new(key.namespace.clone(), name)).collect::<Vec<_>>()
        };
        let nodes = Watch::new(Kind::Node, client.clone(), <Seen as From<VmafxNode>>::from)
            .tells(teller.clone(), |node| vec![node.key()]);
        let sets = Watch::new(Kind::StatefulSet, client.clone(), <Facts as From<StatefulSet>>::from)
            .tells(teller.clone(), move |set| concerned(set.key(), set.controller.as_ref()));
        let services = Watch::new(Kind::Service, client.clone(), Plain::of::<Service>)
            .tells(teller.clone(), move |service| concerned(service.key(), service.controller.as_ref()));
        let budgets = Watch::new(Kind::PodDisruptionBudget, client.clone(), Plain::of::<PodDisruptionBudget>)
            .tells(teller.clone(), move |budget| concerned(budget.key(), budget.controller.as_ref()));
        let job_teller = Teller::default();
        let jobs = Watch::new(Kind::Job, client.clone(), <job::Seen as From<VmafxJob>>::from)
            .tells(job_teller.clone(), |job| vec![job.key()]);
        let batch_jobs = job::pod::watch::jobs(client.clone(), job_teller.clone());
        let pods = job::pod::watch::pods(client.clone(), job_teller.clone());
        let watched = Self {
            nodes: nodes.cache(),
            sets: sets.cache(),
            services: services.cache(),
            budgets: budgets.cache(),
            teller,
            jobs: jobs.cache(),
            batch_jobs: batch_jobs.cache(),
            pods: pods.cache(),
            job_teller,
            listed: vec![
                jobs.listed(),
                batch_jobs.listed(),
                pods.listed(),
                nodes.listed(),
                sets.listed(),
                services.listed(),
                budgets.listed(),
            ],
        };
        let gate = |name| readiness.gate(name, "is being listed");
        let shutdown = tasks.shutdown();
        tasks.service("watch-jobs", jobs.run(gate("vmafxjobs"), metrics.clone(), shutdown.clone()));
        tasks.service("watch-batch-jobs", batch_jobs.run(gate("jobs"), metrics.clone(), shutdown.clone()));
        tasks.service("watch-pods", pods.run(gate("pods"), metrics.clone(), shutdown.clone()));
        tasks.service("watch-nodes", nodes.run(gate("vmafxnodes"), metrics.clone(), shutdown.clone()));
        tasks
            .service("watch-statefulsets", sets.run(gate("statefulsets"), metrics.clone(), shutdown.clone()));
        tasks.service("watch-services", services.run(gate("services"), metrics.clone(), shutdown.clone()));
        tasks.service("watch-budgets", budgets.run(gate("poddisruptionbudgets"), metrics.clone(), shutdown));
        watched
    }

    /// Until everything is known once: before that, what is not known yet would look as if it were not there.
    async fn complete(&self) {
        join_all(self.listed.iter().map(async |listed| drop(listed.clone().wait_for(|done| *done).await)))
            .await;
    }
}

/// Reconciles until shutdown.
async fn reconcile(
    watched: Watched,
    reconciler: Arc<NodeReconciler>,
    jobs: Jobs,
    at_once: usize,
    metrics: RuntimeMetrics,
    shutdown: Shutdown,
) -> Result<(), BoxError> {
    if shutdown.cuts(watched.complete()).await.is_none() {
        return Ok(());
    }
    // First the ear, then the look: what changes in between is heard.
    let inbox = watched.teller.listen();
    let first: Vec<_> = watched.nodes.all().iter().map(|node| node.key()).collect();
    let nodes = async {
        Controller::new(reconciler, at_once, inbox, metrics).run(first, shutdown.clone()).await?;
        Ok(())
    };
    tokio::try_join!(nodes, jobs.lead(shutdown.clone()))?;
    Ok(())
}

/// For questions to the controller. One for all: connections are used again.
async fn http_client(settings: &Settings, address: &Url) -> Result<reqwest::Client, BoxError> {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let builder = match &settings.controller.channel.controller_ca_file {
        Some(file) => {
            let pem = tokio::fs::read(file).await.map_err(|error| {
                format!("cannot read {} (VMAFX_CONTROLLER_CA_FILE): {error}", file.display())
            })?;
            builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(&pem)?)
        }
        None if address.scheme() == "https" => builder,
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
