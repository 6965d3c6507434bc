//! A controller inside the test process, for tests that need its clock, its store or its metrics. It listens on a real socket.
//! All other tests start the program: `vmafx_testkit::controller`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::metadata::MetadataValue;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Status};
use tower::ServiceBuilder;
use vmafx_controller::auth::CallAccess;
use vmafx_controller::background;
use vmafx_controller::grpc::{self, CallMetrics, CountCalls, MessageSizes};
use vmafx_controller::identity::{Identity, Role, Roles, SubjectSource};
use vmafx_controller::metrics::{ControllerMetrics, MetricsPages, MetricsView, QueueGauges};
use vmafx_controller::pools::SharingArgs;
use vmafx_controller::service::{Roots, Service, ServiceLimits, ServiceParts, Tenancy};
use vmafx_kit::config::GoDuration;
use vmafx_kit::serve::{ConnectionLimits, LimitMetrics, incoming};
use vmafx_kit::tasks::{Shutdown, TaskSet};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::scoring::v1::vmafx_scoring_client::VmafxScoringClient;
use vmafx_queue::policy::Policy;
use vmafx_queue::postgres::{self, PostgresStore};
use vmafx_queue::sqlite::{self, SqliteStore};
use vmafx_queue::store::Retention;
use vmafx_queue::{Store, TenantId};

use crate::clock::TestClock;
use crate::counting::CountingStore;
use crate::node::{TestNode, clips, submit};

/// Scoring roots that accept everything below `/clips`.
struct ClipRoots;

impl Roots for ClipRoots {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        vec![format!("/clips/{tenant}"), "/clips".to_owned()]
    }

    fn check(&self, _: &TenantId, address: &str) -> Result<(), String> {
        if address.starts_with("/clips/") { Ok(()) } else { Err("outside the scoring roots".to_owned()) }
    }
}

/// No tenants are declared.
struct NoTenants;

impl Tenancy for NoTenants {}

#[derive(Clone)]
pub(crate) struct ServerOptions {
    pub(crate) policy: Policy,
    pub(crate) patience: ServiceLimits,
    pub(crate) sizes: MessageSizes,
    pub(crate) clock: TestClock,
    pub(crate) sharing: SharingArgs,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            policy: Policy { sweep_interval: Duration::from_millis(20), ..Policy::default() },
            patience: ServiceLimits::default(),
            sizes: MessageSizes::default(),
            clock: TestClock::at(1_700_000_000),
            sharing: SharingArgs::default(),
        }
    }
}

/// Where the queue is stored.
#[derive(Clone)]
pub(crate) enum StoreLocation {
    /// SQLite, in this directory.
    File(Arc<tempfile::TempDir>),
    /// Postgres.
    Database(Arc<vmafx_testkit::postgres::PostgresDatabase>),
}

impl StoreLocation {
    pub(crate) fn file() -> Self {
        Self::File(Arc::new(tempfile::tempdir().unwrap()))
    }

    pub(crate) async fn database() -> Self {
        let server = vmafx_testkit::postgres::PostgresServer::shared().await.unwrap();
        Self::Database(Arc::new(server.database().await.unwrap()))
    }

    async fn open(&self, options: &ServerOptions) -> Arc<dyn Store> {
        let (policy, clock) = (options.policy, Arc::new(options.clock.clone()));
        match self {
            Self::File(directory) => {
                let path = directory.path().join("queue.db");
                Arc::new(
                    SqliteStore::open(sqlite::Options { path, policy, clock, reserve: 64 << 10 }).unwrap(),
                )
            }
            Self::Database(database) => {
                let mut options = postgres::Options::new(database.dsn());
                options.policy = policy;
                options.clock = Some(clock);
                Arc::new(PostgresStore::connect(options).await.unwrap())
            }
        }
    }
}

pub(crate) struct TestServer {
    pub(crate) addr: SocketAddr,
    pub(crate) store: Arc<CountingStore>,
    pub(crate) service: Service,
    pub(crate) metrics: Arc<MetricsPages>,
    pub(crate) numbers: QueueGauges,
    pub(crate) clock: TestClock,
    shutdown: Shutdown,
    running: JoinSet<()>,
    location: StoreLocation,
    options: ServerOptions,
}

impl TestServer {
    /// Starts with an empty queue and default options.
    pub(crate) async fn start() -> Self {
        Self::with(ServerOptions::default()).await
    }

    pub(crate) async fn with(options: ServerOptions) -> Self {
        Self::on(options, StoreLocation::file()).await
    }

    /// A server with one job, which a node is running.
    pub(crate) async fn with_running_job() -> (Self, Client, TestNode, wire::Job) {
        let server = Self::start().await;
        let mut client = server.client().await;
        submit(&mut client, clips()).await;
        let node = TestNode::register(server.client().await).await;
        let work = node.pull().await.unwrap();
        (server, client, node, work)
    }

    /// Starts with a store that may contain jobs or, in Postgres, be used by another controller.
    pub(crate) async fn on(options: ServerOptions, location: StoreLocation) -> Self {
        let clock = Arc::new(options.clock.clone());
        let store = Arc::new(CountingStore::new(location.open(&options).await));
        let mut tasks = TaskSet::default();
        let shutdown = tasks.shutdown();
        let numbers = QueueGauges::default();
        let mut metrics = MetricsPages::new("test", &numbers);
        let counted = ControllerMetrics::new(&mut metrics);
        let calls = CallMetrics::new(&mut metrics.common);
        let service = Service::new(ServiceParts {
            store: store.clone(),
            clock,
            roots: Arc::new(ClipRoots),
            sharing: Arc::new(options.sharing.clone()),
            tenant_limits: Arc::new(vmafx_job::TenantLimits::default()),
            tenancy: Arc::new(NoTenants),
            metrics: counted,
            policy: options.policy,
            limits: options.patience,
            serving: vmafx_kit::health::ServingSignal::default(),
            shutdown: shutdown.clone(),
        });
        let keep = Retention {
            jobs_for: Duration::from_hours(1),
            jobs: 1000,
            samples_for: Duration::from_hours(1),
            samples: 1000,
            batch: 100,
        };
        background::run(&service, keep, Duration::from_mins(1), &mut tasks);

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (routes, _health) = grpc::routes(&service, options.sizes).await.unwrap();
        let layers = ServiceBuilder::new()
            .layer(CountCalls(calls))
            .layer(tonic::service::InterceptorLayer::new(trusting_gate));
        let server = Server::builder().layer(layers).add_routes(routes);
        let incoming = incoming(listener, None, ConnectionLimits::http2(), LimitMetrics::default());
        let incoming = futures::StreamExt::map(incoming, Ok::<_, std::io::Error>);
        let ending = shutdown.begun();
        tasks.service("grpc", async move { server.serve_with_incoming_shutdown(incoming, ending).await });

        let (finished, closed) = (service.clone(), store.clone());
        let mut running = JoinSet::new();
        running.spawn(async move {
            tasks.run(stream::pending(), GoDuration(Duration::from_secs(30))).await.unwrap();
            finished.finish().await;
            closed.close().await;
        });
        let metrics = Arc::new(metrics);
        let clock = options.clock.clone();
        Self { addr, store, service, metrics, numbers, clock, shutdown, running, location, options }
    }

    /// Starts the shutdown.
    pub(crate) fn stop(&self) {
        self.shutdown.begin();
    }

    /// Shuts down and waits until the store is closed.
    pub(crate) async fn stopped(mut self) {
        self.shutdown.begin();
        self.running.join_next().await.unwrap().unwrap();
    }

    /// Shuts down, and starts another controller with the same store.
    pub(crate) async fn restarted(mut self) -> Self {
        self.shutdown.begin();
        self.running.join_next().await.unwrap().unwrap();
        let (options, location) = (self.options.clone(), self.location.clone());
        drop(self);
        Self::on(options, location).await
    }

    /// A client of the tenant `acme`.
    pub(crate) async fn client(&self) -> Client {
        self.client_of("acme").await
    }

    pub(crate) async fn client_of(&self, tenant: &'static str) -> Client {
        self.client_as(tenant, SUBJECT).await
    }

    /// A client of the tenant that is authenticated as `subject`.
    pub(crate) async fn client_as(&self, tenant: &'static str, subject: &'static str) -> Client {
        let channel = self.channel().await;
        VmafxControllerClient::with_interceptor(channel, CallerName { tenant, subject })
    }

    /// A client of the scoring service, of the tenant `acme`.
    pub(crate) async fn scorer(&self) -> VmafxScoringClient<InterceptedService<Channel, CallerName>> {
        let caller = CallerName { tenant: "acme", subject: SUBJECT };
        VmafxScoringClient::with_interceptor(self.channel().await, caller)
    }

    /// A connection without a tenant.
    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.addr)).unwrap();
        endpoint.connect().await.unwrap()
    }

    /// The value of a series, which is named with its labels.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let page = self.metrics.encode(MetricsView::Tenants).unwrap();
        page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Advances the clock in steps that the store does not take for a jump of the clock, and waits for a sweep after each.
    pub(crate) async fn pass(&self, time: Duration) {
        let step = Duration::from_secs(5);
        let mut left = time;
        while !left.is_zero() {
            let by = left.min(step);
            self.clock.advance(by);
            left -= by;
            // Two sweeps, because the one in progress may have read the clock before.
            let before = self.store.sweeps();
            let swept = || async { self.store.sweeps() >= before + 2 };
            vmafx_testkit::wait::until(Duration::from_secs(20), "two sweeps", swept).await.unwrap();
        }
    }
}

pub(crate) type Client = VmafxControllerClient<InterceptedService<Channel, CallerName>>;

/// The subject of the operator.
pub(crate) const OPERATOR: &str = "operator";

/// The subject of callers that do not name one.
const SUBJECT: &str = "test";

/// Adds the names of tenant and subject to every call, for `trusting_gate`.
#[derive(Clone)]
pub(crate) struct CallerName {
    tenant: &'static str,
    subject: &'static str,
}

impl tonic::service::Interceptor for CallerName {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let metadata = request.metadata_mut();
        metadata.insert("x-test-tenant", MetadataValue::from_static(self.tenant));
        metadata.insert("x-test-subject", MetadataValue::from_static(self.subject));
        Ok(request)
    }
}

/// Authenticates every caller as the tenant and subject that it names, with all roles: the real gate is tested in `auth/gate.rs`.
#[expect(clippy::unnecessary_wraps, reason = "the signature of an interceptor")]
fn trusting_gate(mut request: Request<()>) -> Result<Request<()>, Status> {
    let named = |key| request.metadata().get(key).and_then(|name| name.to_str().ok());
    if let Some((tenant, subject)) = named("x-test-tenant").zip(named("x-test-subject")) {
        let tenant = TenantId::new(tenant).unwrap();
        let roles = Roles::of(&Role::ALL);
        let (subject, calls_for_namespaces) = (subject.to_owned(), subject == OPERATOR);
        let source = SubjectSource::Platform;
        let identity = Identity { tenant, subject, source, roles, calls_for_namespaces };
        request.extensions_mut().insert(identity);
        request.extensions_mut().insert(CallAccess::UNLIMITED);
    }
    Ok(request)
}
