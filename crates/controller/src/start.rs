//! From settings to a controller that serves.
//!
//! The end is the beginning turned around: listeners stop accepting, waiting calls are answered, calls under way end,
//! what their callers left behind is done, and the store is closed last.

mod listeners;
mod readiness;

use std::net::SocketAddr;
use std::sync::Arc;

use vmafx_kit::health::Readiness;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_queue::clock::{Clock, SteadyClock};

use crate::auth::{AuthMetrics, Time};
use crate::background;
use crate::grpc::CallMetrics;
use crate::metrics::{ControllerMetrics, QueueNumbers};
use crate::node_status::NodeStatusWriter;
use crate::service::{Parts, Patience, Service};
use crate::settings::{Command, Settings};

/// Where a controller listens; `None`: it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// gRPC.
    pub grpc: Option<SocketAddr>,
    /// HTTP.
    pub http: Option<SocketAddr>,
}

/// Does what was asked for: adds the tasks that serve, or migrates and adds none.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    match settings.command.unwrap_or_default() {
        Command::Serve => serve(settings, tasks).await.map(drop),
        Command::Migrate => {
            let store = settings.store.open(Arc::new(SteadyClock::start())).await?;
            store.ready().await?;
            store.close().await;
            tracing::info!("the store's schema is up to date");
            Ok(())
        }
    }
}

/// Adds the tasks that serve; says where.
pub async fn serve(settings: Settings, tasks: &mut TaskSet) -> Result<Addresses, BoxError> {
    let policy = settings.store.policy()?;
    let keep = settings.retention.keep()?;
    let mut metrics = Metrics::new(env!("CARGO_PKG_VERSION"));
    let counted = ControllerMetrics::new(&mut metrics);
    let calls = CallMetrics::new(&mut metrics);
    let numbers = QueueNumbers::default();
    metrics.collector(numbers.clone());
    let access = settings.auth.open(&settings.roots, Time::real(), AuthMetrics::new(&mut metrics)).await?;

    let clock: Arc<dyn Clock> = Arc::new(SteadyClock::start());
    let store = settings.store.open(clock.clone()).await?;
    let service = Service::new(Parts {
        store: store.clone(),
        clock: clock.clone(),
        roots: access.roots.clone(),
        metrics: counted,
        policy,
        patience: Patience {
            longest_pull: settings.pull_wait.0,
            longest_score: settings.score_wait.0,
            streams: settings.max_streams.min(tokio::sync::Semaphore::MAX_PERMITS),
            ..Patience::default()
        },
        shutdown: tasks.shutdown(),
    });
    close_last(&service, tasks);
    tasks.service("auth", access.upkeep.clone().run(tasks.shutdown()));
    background::run(&service, keep, settings.retention.retention_interval.0, tasks);
    if let Some(client) = settings.node_status.client().await? {
        let writer = NodeStatusWriter::new(store.clone(), client, settings.cluster.clone(), &mut metrics);
        tasks.service("node-status", writer.run(tasks.shutdown()));
    }

    let readiness = Readiness::new(tasks.shutdown());
    tasks.service("readiness", readiness::watch(store, readiness.clone(), tasks.shutdown()));
    let parts =
        listeners::Parts { service, access, readiness, metrics: Arc::new(metrics), numbers, calls, clock };
    listeners::open(&settings, parts, tasks).await
}

/// Closes the store when everything else has ended.
fn close_last(service: &Service, tasks: &mut TaskSet) {
    let service = service.clone();
    tasks.support("store", |last| async move {
        last.begun().await;
        service.finish().await;
        service.store().close().await;
        Ok::<_, BoxError>(())
    });
}
