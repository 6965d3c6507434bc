//! A whole controller in this process, spoken to over a real socket.

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
use vmafx_controller::background;
use vmafx_controller::grpc::{self, CallMetrics, CountCalls, MessageSizes};
use vmafx_controller::identity::{Identity, Role, Roles};
use vmafx_controller::metrics::{ControllerMetrics, QueueNumbers};
use vmafx_controller::service::{Parts, Patience, Roots, Service};
use vmafx_kit::config::GoDuration;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::tasks::{Shutdown, TaskSet};
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::scoring::v1::vmafx_scoring_client::VmafxScoringClient;
use vmafx_queue::policy::Policy;
use vmafx_queue::postgres::{self, PostgresStore};
use vmafx_queue::sqlite::{self, SqliteStore};
use vmafx_queue::store::Retention;
use vmafx_queue::{Store, TenantId};

use crate::clock::TestClock;
use crate::counting::CountingStore;

/// Everything within `/clips` may be scored.
struct Clips;

impl Roots for Clips {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        vec![format!("/clips/{tenant}"), "/clips".to_owned()]
    }

    fn check(&self, _: &TenantId, address: &str) -> Result<(), String> {
        if address.starts_with("/clips/") { Ok(()) } else { Err("outside the scoring roots".to_owned()) }
    }
}

/// What a test can choose.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The queue's patience.
    pub(crate) policy: Policy,
    /// The service's patience.
    pub(crate) patience: Patience,
    /// Bytes of a message.
    pub(crate) sizes: MessageSizes,
    /// The time.
    pub(crate) clock: TestClock,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            policy: Policy { sweep_interval: Duration::from_millis(20), ..Policy::default() },
            patience: Patience::default(),
            sizes: MessageSizes::default(),
            clock: TestClock::new(),
        }
    }
}

/// Where the queue is.
#[derive(Clone)]
pub(crate) enum Place {
    /// In a file of this directory.
    File(Arc<tempfile::TempDir>),
    /// In a database.
    Database(Arc<vmafx_testkit::postgres::PostgresDatabase>),
}

impl Place {
    /// An empty file.
    pub(crate) fn file() -> Self {
        Self::File(Arc::new(tempfile::tempdir().unwrap()))
    }

    /// An empty database.
    pub(crate) async fn database() -> Self {
        let server = vmafx_testkit::postgres::PostgresServer::shared().await.unwrap();
        Self::Database(Arc::new(server.database().await.unwrap()))
    }

    async fn open(&self, setup: &Setup) -> Arc<dyn Store> {
        let (policy, clock) = (setup.policy, Arc::new(setup.clock.clone()));
        match self {
            Self::File(directory) => {
                let path = directory.path().join("queue.db");
                Arc::new(SqliteStore::open(sqlite::Options { path, policy, clock }).unwrap())
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

/// A controller.
pub(crate) struct TestServer {
    /// Where it listens.
    pub(crate) addr: SocketAddr,
    /// Its store.
    pub(crate) store: Arc<CountingStore>,
    /// Its operations.
    pub(crate) service: Service,
    /// Its metrics.
    pub(crate) metrics: Arc<Metrics>,
    /// The queue's numbers among them.
    pub(crate) numbers: QueueNumbers,
    /// Its time.
    pub(crate) clock: TestClock,
    shutdown: Shutdown,
    running: JoinSet<()>,
    place: Place,
    setup: Setup,
}

impl TestServer {
    /// A new one, with an empty queue.
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    /// The same, otherwise.
    pub(crate) async fn with(setup: Setup) -> Self {
        Self::on(setup, Place::file()).await
    }

    /// On a queue that may have been used before, or be in use by another controller.
    pub(crate) async fn on(setup: Setup, place: Place) -> Self {
        let clock = Arc::new(setup.clock.clone());
        let store = Arc::new(CountingStore::new(place.open(&setup).await));
        let mut tasks = TaskSet::default();
        let shutdown = tasks.shutdown();
        let mut metrics = Metrics::new("test");
        let counted = ControllerMetrics::new(&mut metrics);
        let calls = CallMetrics::new(&mut metrics);
        let numbers = QueueNumbers::default();
        metrics.collector(numbers.clone());
        let service = Service::new(Parts {
            store: store.clone(),
            clock,
            roots: Arc::new(Clips),
            metrics: counted,
            policy: setup.policy,
            patience: setup.patience,
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
        let (routes, _health) = grpc::routes(&service, setup.sizes).await.unwrap();
        let layers = ServiceBuilder::new()
            .layer(CountCalls(calls))
            .layer(tonic::service::InterceptorLayer::new(trusting_gate));
        let server = Server::builder().layer(layers).add_routes(routes);
        let incoming = vmafx_kit::serve::incoming(listener, None, 4096);
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
        let clock = setup.clock.clone();
        Self { addr, store, service, metrics, numbers, clock, shutdown, running, place, setup }
    }

    /// Begins the shutdown.
    pub(crate) fn stop(&self) {
        self.shutdown.begin();
    }

    /// Stops, and waits until everything is closed.
    pub(crate) async fn stopped(mut self) {
        self.shutdown.begin();
        self.running.join_next().await.unwrap().unwrap();
    }

    /// Another controller on the same file, after this one was stopped.
    pub(crate) async fn restarted(mut self) -> Self {
        self.shutdown.begin();
        self.running.join_next().await.unwrap().unwrap();
        let (setup, place) = (self.setup.clone(), self.place.clone());
        drop(self);
        Self::on(setup, place).await
    }

    /// Somebody of the tenant `acme`.
    pub(crate) async fn client(&self) -> Client {
        self.client_of("acme").await
    }

    /// Somebody of a tenant.
    pub(crate) async fn client_of(&self, tenant: &'static str) -> Client {
        let channel = self.channel().await;
        VmafxControllerClient::with_interceptor(channel, TenantName(tenant))
    }

    /// Somebody who wants a score at once.
    pub(crate) async fn scorer(&self) -> VmafxScoringClient<InterceptedService<Channel, TenantName>> {
        VmafxScoringClient::with_interceptor(self.channel().await, TenantName("acme"))
    }

    /// A connection without a name.
    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.addr)).unwrap();
        endpoint.connect().await.unwrap()
    }

    /// One line of the metrics, without its value.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let page = self.metrics.encode().unwrap();
        page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Moves the clock on in steps that are no jump, with a sweep after each.
    pub(crate) async fn pass(&self, time: Duration) {
        let step = Duration::from_secs(5);
        let mut left = time;
        while !left.is_zero() {
            let by = left.min(step);
            self.clock.advance(by);
            left -= by;
            // The one under way may have looked at the clock before.
            let seen = self.store.sweeps();
            let swept = || async { self.store.sweeps() >= seen + 2 };
            vmafx_testkit::wait::until(Duration::from_secs(20), "two sweeps", swept).await.unwrap();
        }
    }
}

/// A client that says whose it is.
pub(crate) type Client = VmafxControllerClient<InterceptedService<Channel, TenantName>>;

/// Puts the tenant's name into every call.
#[derive(Clone)]
pub(crate) struct TenantName(&'static str);

impl tonic::service::Interceptor for TenantName {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("x-test-tenant", MetadataValue::from_static(self.0));
        Ok(request)
    }
}

/// Believes everybody: the real gate has tests of its own.
#[expect(clippy::unnecessary_wraps, reason = "interceptors may refuse")]
fn trusting_gate(mut request: Request<()>) -> Result<Request<()>, Status> {
    let tenant = request.metadata().get("x-test-tenant").and_then(|name| name.to_str().ok());
    if let Some(tenant) = tenant {
        let tenant = TenantId::new(tenant).unwrap();
        let identity = Identity { tenant, subject: "test".to_owned(), roles: Roles::of(&Role::ALL) };
        request.extensions_mut().insert(identity);
    }
    Ok(request)
}
