//! From settings to a running operator.
//!
//! Every replica watches, so that its caches are complete when it becomes the leader, and serves webhooks, health and
//! metrics. Only the leader reconciles.

use std::sync::Arc;

use axum::Router;
use kube::Client;
use vmafx_kit::config::{Environment, ListenAddr};
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, Shutdown, TaskSet};
use vmafx_kit::tls::CertificateMetrics;

use crate::authority::CertificateClock;
use crate::client::{self, ClientMetrics};
use crate::controller_tls::{CaDistributor, CertificateSource, ClientCertificateSource, ClientCertificates};
use crate::controllers::{ReconciledKind, ReconciledKinds};
use crate::crds;
use crate::events::EventRecorder;
use crate::http_client::{ReloadingClient, system_client};
use crate::job::in_pod::PodJobs;
use crate::job::metrics::JobMetrics;
use crate::job::start::Jobs;
use crate::lease::{Election, Installation, LeaseMetrics, Permit, holder_identity};
use crate::node::NodeReconciler;
use crate::node::probe::Prober;
use crate::runtime::{Cache, Cached, Controller, Notifier, Reconcile, RuntimeMetrics};
use crate::settings::{Command, Settings};
use crate::training::TrainingReconciler;
use crate::training::poll::Poller;
use crate::watches::Watches;
use crate::webhook::{self, WebhookParts};
use crate::workload::{WorkloadMetrics, Workloads};

/// Adds the tasks of an operator, or installs the custom resource definitions and adds none.
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
    let (requests, leases) = (ClientMetrics::new(&mut registry), LeaseMetrics::new(&mut registry));
    let holder = holder_identity(&Environment::of_process());

    let kinds = settings.kinds();
    let ungated = client::build(&config, Permit::always(), &requests)?;
    let election = settings
        .lease
        .settings(&kinds)?
        .map(|lease| Election::new(ungated.clone(), &namespace, lease, holder.clone(), leases.clone()));
    let permit = election.as_ref().map_or_else(Permit::always, Election::permit);
    let installation = election.as_ref().map(Election::installation).unwrap_or_default();
    let gated = client::build(&config, permit, &requests)?;

    let runtime = RuntimeMetrics::new(&mut registry);
    let certificates = CertificateMetrics::new(&mut registry);
    let watches = Watches::start(&ungated, &kinds, &readiness, &runtime, tasks);
    let recorder = EventRecorder::new(gated.clone(), holder, &mut registry);
    let parts = Parts {
        settings: &settings,
        namespace: &namespace,
        client: gated,
        recorder,
        watches,
        installation,
        runtime,
    };
    let reconcilers = parts.reconcilers(&mut registry, &certificates).await?;
    let templates = settings.template_policy(&namespace);
    let hooks = WebhookParts { templates, client: ungated, certificates };
    webhook::start(&settings.webhook, hooks, &readiness, &mut registry, tasks).await?;
    serve_pages(&settings, readiness, registry, tasks).await?;

    let work = move |shutdown| reconcilers.clone().run(shutdown);
    let shutdown = tasks.shutdown();
    if let Some(election) = election {
        tasks.service("leader", election.lead(shutdown, work));
    } else {
        leases.sole_leader();
        tasks.service("reconcilers", work(shutdown));
    }
    Ok(())
}

/// What the reconcilers are made from.
struct Parts<'a> {
    settings: &'a Settings,
    namespace: &'a str,
    client: Client,
    recorder: EventRecorder,
    watches: Watches,
    installation: Installation,
    runtime: RuntimeMetrics,
}

impl Parts<'_> {
    async fn reconcilers(
        self,
        registry: &mut Metrics,
        certificates: &CertificateMetrics,
    ) -> Result<Reconcilers, BoxError> {
        let Self { settings, namespace, client, recorder, watches, installation, runtime } = self;
        let controller = settings.controller.http(namespace)?;
        let grpc = settings.controller.grpc(namespace)?;
        let templates = settings.template_policy(namespace);
        let metrics = WorkloadMetrics::new(registry);
        let workloads = Workloads::new(&client, watches.workloads.clone(), metrics);
        let certificate = CertificateSource::of(&settings.controller, namespace)?;
        let issues = settings.controller.certificate.client_certs == ClientCertificateSource::Issue;
        let authorities = CaDistributor::with_certificates(
            client.clone(),
            watches.namespaces_with_pods(namespace, &settings.kinds()),
            issues.then(|| ClientCertificates::new(client.clone(), CertificateClock::wall())),
        );
        let trusted = certificate.trusted(&authorities);
        let workloads = Arc::new(workloads.with_authorities(authorities.clone()));
        let nodes = NodeReconciler {
            client: client.clone(),
            nodes: watches.nodes.clone(),
            workloads: Arc::clone(&workloads),
            prober: Prober::new(
                ReloadingClient::open(trusted.clone(), controller.scheme() == "https").await?,
                &controller,
            ),
            recorder: recorder.clone(),
            defaults: settings.node_defaults(&grpc, &templates),
        };
        let trainer_url = settings.trainers.trainer_url.clone();
        let http = system_client(trainer_url.is_https())?;
        let trainings = TrainingReconciler {
            client: client.clone(),
            trainings: watches.trainings.clone(),
            workloads: Arc::clone(&workloads),
            poller: Poller::new(http, trainer_url, settings.trainers.poll()?),
            recorder: recorder.clone(),
            defaults: settings.trainer_defaults(&grpc, &templates),
        };
        let tls = ControllerTlsTask { certificate, client: client.clone(), authorities };
        let channel = settings.controller.channel.open_trusting(&grpc, trusted)?;
        certificates.channel(&channel);
        let jobs = Jobs {
            client: client.clone(),
            cache: watches.jobs.clone(),
            pods: PodJobs {
                accounts: workloads.accounts(),
                client,
                jobs: watches.batch_jobs.clone(),
                pods: watches.pods.clone(),
                defaults: settings.job_defaults(&templates),
            },
            notifier: watches.notifiers.jobs.clone(),
            channel,
            cluster: settings.controller.cluster.clone(),
            tenant_per_namespace: settings.controller.tenant_per_namespace,
            installation,
            recorder,
            at_once: settings.concurrency,
            metrics: JobMetrics::new(registry),
            runtime: runtime.clone(),
        };
        let (nodes, trainings) = (Arc::new(nodes), Arc::new(trainings));
        let (kinds, concurrency) = (settings.kinds(), settings.concurrency);
        Ok(Reconcilers { kinds, tls, jobs, nodes, trainings, watches, concurrency, runtime })
    }
}

/// What keeps the controller's certificate and its authorities up to date.
#[derive(Clone)]
struct ControllerTlsTask {
    certificate: CertificateSource,
    client: Client,
    authorities: CaDistributor,
}

impl ControllerTlsTask {
    async fn lead(self, shutdown: Shutdown) -> Result<(), BoxError> {
        Ok(self.certificate.lead(self.client, self.authorities, shutdown).await?)
    }
}

/// The reconcilers of all kinds, which run while this operator leads.
#[derive(Clone)]
struct Reconcilers {
    kinds: ReconciledKinds,
    tls: ControllerTlsTask,
    jobs: Jobs,
    nodes: Arc<NodeReconciler>,
    trainings: Arc<TrainingReconciler>,
    watches: Watches,
    concurrency: usize,
    runtime: RuntimeMetrics,
}

impl Reconcilers {
    async fn run(self, shutdown: Shutdown) -> Result<(), BoxError> {
        if shutdown.run_until_begun(self.watches.complete()).await.is_none() {
            return Ok(());
        }
        let Watches { nodes, trainings, notifiers, .. } = &self.watches;
        tokio::try_join!(
            self.tls.clone().lead(shutdown.clone()),
            self.only(
                ReconciledKind::Node,
                self.control(Arc::clone(&self.nodes), &notifiers.nodes, nodes, shutdown.clone())
            ),
            self.only(
                ReconciledKind::Training,
                self.control(Arc::clone(&self.trainings), &notifiers.trainings, trainings, shutdown.clone())
            ),
            self.only(ReconciledKind::Job, self.jobs.clone().lead(shutdown.clone()))
        )?;
        Ok(())
    }

    /// Runs the work if this operator reconciles the kind.
    async fn only(
        &self,
        kind: ReconciledKind,
        work: impl Future<Output = Result<(), BoxError>>,
    ) -> Result<(), BoxError> {
        if self.kinds.includes(kind) { work.await } else { Ok(()) }
    }

    /// Reconciles every cached resource of a kind, then those that change.
    async fn control<R: Reconcile, V: Cached>(
        &self,
        reconciler: Arc<R>,
        notifier: &Notifier,
        cache: &Cache<V>,
        shutdown: Shutdown,
    ) -> Result<(), BoxError> {
        // The subscription comes before the listing of the cache, so that no change in between is missed.
        let inbox = notifier.subscribe();
        let first: Vec<_> = cache.all().iter().map(|resource| resource.key()).collect();
        let controller = Controller::new(reconciler, self.concurrency, inbox, self.runtime.clone());
        controller.run(first, shutdown).await?;
        Ok(())
    }
}

/// Serves health and metrics until all other tasks have stopped.
async fn serve_pages(
    settings: &Settings,
    readiness: Readiness,
    registry: Metrics,
    tasks: &mut TaskSet,
) -> Result<(), BoxError> {
    let health = health::router(readiness);
    serve_page("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "health", &settings.health_probe_addr, health, tasks)
        .await?;
    let metrics = metrics::router(Arc::new(registry));
    serve_page("VMAFX_OPERATOR_METRICS_ADDR", "metrics", &settings.metrics_addr, metrics, tasks).await
}

async fn serve_page(
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
