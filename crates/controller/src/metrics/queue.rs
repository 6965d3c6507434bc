//! Gauges of the queue, read from the store when `/metrics` is scraped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::time::{Instant, timeout};
use vmafx_kit::metrics::{Collector, LabelSet, MetricLabel};
use vmafx_queue::Store;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::store::TenantStats;

use super::{ControllerMetrics, MetricsPages, MetricsView, ReadSource};
use crate::auth::Authenticator;
use crate::refusal::Refusal;

/// Scrapes within this time share a snapshot, so that frequent scrapes do not load the store.
const CACHE_TTL: Duration = Duration::from_secs(1);
/// An unresponsive store must not delay the other metrics.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

type Read = fn(&TenantSums) -> f64;

/// Tenants beyond the limit of the label share one value, so their numbers are added up.
#[derive(Clone, Copy, Debug, Default)]
struct TenantSums {
    pending: u64,
    running: u64,
    stored_bytes: u64,
    oldest_age: f64,
}

#[derive(Clone, Debug, Default)]
struct QueueSnapshot {
    tenants: BTreeMap<&'static str, TenantSums>,
    nodes: u64,
    quarantined: u64,
    is_full: bool,
    free_bytes: Option<u64>,
}

/// The last snapshot of the queue, or none.
#[derive(Clone, Debug, Default)]
pub struct QueueGauges(Arc<Mutex<Option<QueueSnapshot>>>);

/// Exports the last snapshot, or nothing while there is none.
#[derive(Debug)]
struct QueueCollector {
    gauges: QueueGauges,
    view: MetricsView,
}

impl QueueSnapshot {
    /// The values of the label `tenant`, each with its numbers.
    fn by_label(&self, view: MetricsView) -> BTreeMap<&'static str, TenantSums> {
        match view {
            MetricsView::Tenants => self.tenants.clone(),
            MetricsView::Totals => {
                [("", self.tenants.values().copied().fold(TenantSums::default(), TenantSums::and))].into()
            }
        }
    }
}

impl TenantSums {
    fn and(self, other: Self) -> Self {
        Self {
            pending: self.pending + other.pending,
            running: self.running + other.running,
            stored_bytes: self.stored_bytes + other.stored_bytes,
            oldest_age: self.oldest_age.max(other.oldest_age),
        }
    }
}

impl QueueGauges {
    pub(super) fn collector(&self, view: MetricsView) -> impl Collector {
        QueueCollector { gauges: self.clone(), view }
    }

    fn set(&self, snapshot: Option<QueueSnapshot>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

impl Collector for QueueCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(snapshot) = self.gauges.0.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Ok(());
        };
        #[expect(clippy::cast_precision_loss, reason = "no store holds 2^53 jobs")]
        let gauges: [(&str, &str, Read); 4] = [
            ("vmafx_controller_jobs_pending", "Jobs waiting for a node", |sums| sums.pending as f64),
            ("vmafx_controller_jobs_running", "Jobs assigned to nodes", |sums| sums.running as f64),
            (
                "vmafx_controller_jobs_stored_bytes",
                "Size of the stored requests and results, as counted for the limit",
                |sums| sums.stored_bytes as f64,
            ),
            ("vmafx_controller_queue_oldest_job_age_seconds", "Age of the oldest pending job", |sums| {
                sums.oldest_age
            }),
        ];
        for (name, help, read) in gauges {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (tenant, sums) in &snapshot.by_label(self.view) {
                let labels: Vec<_> =
                    [("tenant", *tenant)].into_iter().filter(|(_, name)| !name.is_empty()).collect();
                ConstGauge::new(read(sums)).encode(family.encode_family(&labels)?)?;
            }
        }
        let gauges = [
            ("vmafx_controller_nodes_live", "Nodes with a session", Some(snapshot.nodes)),
            (
                "vmafx_controller_nodes_quarantined",
                "Nodes with a session that get no jobs because they failed several attempts in a row",
                Some(snapshot.quarantined),
            ),
            (
                "vmafx_controller_store_full",
                "Whether the store refuses new jobs for lack of space",
                Some(u64::from(snapshot.is_full)),
            ),
            (
                "vmafx_controller_store_free_bytes",
                "Free space on the volume of the sqlite store",
                snapshot.free_bytes,
            ),
        ];
        for (name, help, value) in gauges {
            let Some(value) = value else { continue };
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(metric)?;
        }
        Ok(())
    }
}

struct MetricsEndpoint {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    controller_metrics: ControllerMetrics,
    gauges: QueueGauges,
    read_at: tokio::sync::Mutex<Option<Instant>>,
    pages: Arc<MetricsPages>,
    authenticator: Authenticator,
}

/// Serves `/metrics` with current gauges of the queue. `gauges` must be those of `pages`.
pub fn router(
    pages: Arc<MetricsPages>,
    authenticator: Authenticator,
    gauges: QueueGauges,
    controller_metrics: ControllerMetrics,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> Router {
    let read_at = tokio::sync::Mutex::default();
    let endpoint =
        Arc::new(MetricsEndpoint { store, clock, controller_metrics, gauges, read_at, pages, authenticator });
    Router::new().route("/metrics", get(serve)).with_state(endpoint)
}

async fn serve(
    State(endpoint): State<Arc<MetricsEndpoint>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let view = endpoint.authenticator.metrics_view(&headers)?;
    endpoint.read().await;
    Ok(vmafx_kit::metrics::response(endpoint.pages.encode(view)))
}

impl MetricsEndpoint {
    async fn read(&self) {
        // The lock makes concurrent scrapes wait for the same read.
        let mut read_at = self.read_at.lock().await;
        if read_at.is_some_and(|at| at.elapsed() < CACHE_TTL) {
            return;
        }
        let stats = timeout(READ_TIMEOUT, self.store.stats()).await;
        *read_at = Some(Instant::now());
        let problem: &dyn std::error::Error = match &stats {
            Ok(Ok(stats)) => return self.gauges.set(Some(self.sum(stats))),
            Ok(Err(error)) => error,
            Err(elapsed) => elapsed,
        };
        tracing::warn!(error = problem, "cannot read the queue for metrics");
        self.controller_metrics.read_errors.get_or_create(&LabelSet((ReadSource::Queue,))).inc();
        // An absent gauge is better than an outdated one, which nobody could tell from a current one.
        self.gauges.set(None);
    }

    fn sum(&self, stats: &[TenantStats]) -> QueueSnapshot {
        let now = self.clock.now();
        let age = |oldest: Option<Timestamp>| oldest.map_or(0.0, |at| now.since(at).as_secs_f64());
        let mut snapshot = QueueSnapshot {
            is_full: self.store.is_full(),
            free_bytes: self.store.free_bytes(),
            ..QueueSnapshot::default()
        };
        for tenant in stats {
            let sums =
                snapshot.tenants.entry(self.controller_metrics.tenant(&tenant.tenant).value()).or_default();
            *sums = sums.and(TenantSums {
                pending: tenant.pending,
                running: tenant.running,
                stored_bytes: tenant.stored_bytes,
                oldest_age: age(tenant.oldest_pending),
            });
            snapshot.nodes += tenant.nodes;
            snapshot.quarantined += tenant.quarantined;
        }
        snapshot
    }
}
