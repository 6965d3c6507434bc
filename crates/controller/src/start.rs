//! Starts the controller from its settings.
//!
//! Shutdown runs in the opposite order: listeners stop accepting, waiting calls are answered, running calls finish, their
//! detached work is completed, and the store is closed last.

mod listeners;
mod readiness;

use std::net::SocketAddr;
use std::sync::Arc;

use vmafx_kit::health::{Readiness, ServingSignal};
use vmafx_kit::serve::LimitMetrics;
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_kit::tls::CertificateMetrics;
use vmafx_queue::clock::{Clock, SystemClock};
use vmafx_queue::sqlite::BackupSummary;

use crate::audit::AuditLog;
use crate::auth::{AuthMetrics, Clocks};
use crate::background;
use crate::grpc::CallMetrics;
use crate::metrics::{ControllerMetrics, MetricsPages, QueueGauges};
use crate::node_status::NodeStatusWriter;
use crate::service::{Service, ServiceLimits, ServiceParts};
use crate::settings::{Command, Settings};

/// The bound addresses; `None` if the listener is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub grpc: Option<SocketAddr>,
    pub http: Option<SocketAddr>,
}

/// Adds the tasks that serve, or works on the store and adds none.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    match settings.command.clone().unwrap_or_default() {
        Command::Serve => serve(settings, tasks).await.map(drop),
        Command::Migrate => {
            let store = settings.store.open(Arc::new(SystemClock::default())).await?;
            store.ready().await?;
            store.close().await;
            tracing::info!("the store's schema is up to date");
            Ok(())
        }
        Command::Backup { to } => {
            let copied = {
                let (store, to) = (settings.store, to.clone());
                move || store.back_up(&to)
            };
            let BackupSummary { jobs, bytes } = tokio::task::spawn_blocking(copied).await??;
            tracing::info!(file = %to.display(), jobs, bytes, "the backup is complete");
            Ok(())
        }
        Command::Restore { from } => {
            let restored = {
                let (store, from) = (settings.store, from.clone());
                move || store.restore(&from)
            };
            let BackupSummary { jobs, bytes } = tokio::task::spawn_blocking(restored).await??;
            tracing::info!(file = %from.display(), jobs, bytes, "the backup is in place; start the controller");
            Ok(())
        }
    }
}

pub async fn serve(settings: Settings, tasks: &mut TaskSet) -> Result<Addresses, BoxError> {
    let policy = settings.store.policy()?;
    let retention = settings.retention.validate()?;
    settings.limits.validate()?;
    let gauges = QueueGauges::default();
    let mut pages = MetricsPages::new(env!("CARGO_PKG_VERSION"), &gauges);
    let controller_metrics = ControllerMetrics::new(&mut pages);
    let metrics = &mut pages.common;
    let calls = CallMetrics::new(metrics);
    let limits = LimitMetrics::new(metrics);
    let certificates = CertificateMetrics::new(metrics);
    let access = settings.auth.open(&settings.roots, Clocks::system(), AuthMetrics::new(metrics)).await?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let store = settings.store.open(clock.clone()).await?;
    let tenant_limits = settings.limits.of_tenant(settings.store.volume_bytes());
    let tenant_rules = Arc::new(access.tenant_rules(tenant_limits, settings.sharing.clone()));
    let serving = ServingSignal::default();
    let service = Service::new(ServiceParts {
        store: store.clone(),
        clock: clock.clone(),
        roots: access.roots.clone(),
        sharing: tenant_rules.clone(),
        tenant_limits: tenant_rules.clone(),
        tenancy: tenant_rules,
        metrics: controller_metrics,
        policy,
        limits: ServiceLimits {
            max_pull_wait: settings.pull_wait.0,
            max_score_wait: settings.score_wait.0,
            max_streams: settings.max_streams,
            writer_priority: settings.limits.limits_writer_priority,
            ..ServiceLimits::default()
        },
        serving: serving.clone(),
        shutdown: tasks.shutdown(),
    });
    close_store_last(&service, tasks);
    let readiness = Readiness::new(tasks.shutdown());
    tasks.service("auth", access.refresher.clone().run(&readiness, tasks.shutdown()));
    background::run(&service, retention, settings.retention.retention_interval.0, tasks);
    if let Some(client) = settings.node_status.client().await? {
        let writer = NodeStatusWriter::new(store.clone(), client, settings.cluster.clone(), metrics);
        tasks.service("node-status", writer.run(tasks.shutdown()));
    }

    tasks.service("readiness", readiness::watch(store, readiness.clone(), serving.clone(), tasks.shutdown()));
    let parts = listeners::ListenerParts {
        service,
        access,
        readiness,
        serving,
        pages: Arc::new(pages),
        gauges,
        calls,
        limits,
        certificates,
        audit: AuditLog::default(),
        clock,
    };
    listeners::open(&settings, parts, tasks).await
}

/// Closes the store after all other tasks have ended.
fn close_store_last(service: &Service, tasks: &mut TaskSet) {
    let service = service.clone();
    tasks.support("store", |last| async move {
        last.begun().await;
        service.finish().await;
        service.store().close().await;
        Ok::<_, BoxError>(())
    });
}
