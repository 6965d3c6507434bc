//! Numbers that are read from the store when somebody asks for the metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::time::{Instant, timeout};
use tower::ServiceExt;
use vmafx_kit::metrics::{Collector, LabelSet, MetricLabel, Metrics};
use vmafx_queue::Store;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::store::TenantStats;

use super::{ControllerMetrics, Source};

/// Readings are shared by those who ask within this time: asking more often does not load the store.
const FRESH: Duration = Duration::from_secs(1);
/// A store that does not answer must not hold up all other metrics.
const PATIENCE: Duration = Duration::from_secs(3);

/// Reads one number.
type Read = fn(&Sums) -> f64;

/// Sums of tenants that share a label.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    pending: u64,
    running: u64,
    oldest: f64,
}

/// The last reading; nothing is shown while there is none.
#[derive(Clone, Debug, Default)]
struct Reading {
    tenants: BTreeMap<&'static str, Sums>,
    nodes: u64,
}

/// Shows the last reading.
#[derive(Clone, Debug, Default)]
pub struct QueueNumbers(Arc<Mutex<Option<Reading>>>);

impl QueueNumbers {
    fn set(&self, reading: Option<Reading>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reading;
    }
}

impl Collector for QueueNumbers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(reading) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Ok(());
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "more jobs than a float can count do not fit anywhere"
        )]
        let gauges: [(&str, &str, Read); 3] = [
            ("vmafx_controller_jobs_pending", "Jobs that wait", |sums| sums.pending as f64),
            ("vmafx_controller_jobs_running", "Jobs that nodes hold", |sums| sums.running as f64),
            ("vmafx_controller_queue_oldest_job_age_seconds", "Age of the job that waits longest", |sums| {
                sums.oldest
            }),
        ];
        for (name, help, read) in gauges {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (tenant, sums) in &reading.tenants {
                let labels = [("tenant", *tenant)];
                ConstGauge::new(read(sums)).encode(family.encode_family(&labels)?)?;
            }
        }
        let name = "vmafx_controller_nodes_live";
        let metric = encoder.encode_descriptor(name, "Nodes with a session", None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(reading.nodes).unwrap_or(i64::MAX)).encode(metric)
    }
}

struct Page {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    counted: ControllerMetrics,
    numbers: QueueNumbers,
    read_at: tokio::sync::Mutex<Option<Instant>>,
    rest: Router,
}

/// Serves `/metrics`, with the queue's numbers as they are when it is asked. `numbers` must be among the collectors
/// of `metrics`.
pub fn router(
    metrics: Arc<Metrics>,
    numbers: QueueNumbers,
    counted: ControllerMetrics,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> Router {
    let rest = vmafx_kit::metrics::router(metrics);
    let read_at = tokio::sync::Mutex::default();
    let page = Arc::new(Page { store, clock, counted, numbers, read_at, rest });
    Router::new().route("/metrics", get(serve)).with_state(page)
}

async fn serve(State(page): State<Arc<Page>>, request: axum::extract::Request) -> Response {
    page.read().await;
    match page.rest.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

impl Page {
    async fn read(&self) {
        // Whoever asks while another reads waits for that reading.
        let mut read_at = self.read_at.lock().await;
        if read_at.is_some_and(|at| at.elapsed() < FRESH) {
            return;
        }
        let stats = timeout(PATIENCE, self.store.stats()).await;
        *read_at = Some(Instant::now());
        let problem: &dyn std::error::Error = match &stats {
            Ok(Ok(stats)) => return self.numbers.set(Some(self.sum(stats))),
            Ok(Err(error)) => error,
            Err(late) => late,
        };
        tracing::warn!(error = problem, "cannot read the queue's numbers");
        self.counted.read_errors.get_or_create(&LabelSet((Source::Queue,))).inc();
        // Old numbers would look like new ones.
        self.numbers.set(None);
    }

    fn sum(&self, stats: &[TenantStats]) -> Reading {
        let now = self.clock.now();
        let age = |oldest: Option<Timestamp>| oldest.map_or(0.0, |at| now.since(at).as_secs_f64());
        let mut reading = Reading::default();
        for tenant in stats {
            let sums = reading.tenants.entry(self.counted.tenant(&tenant.tenant).value()).or_default();
            sums.pending += tenant.pending;
            sums.running += tenant.running;
            sums.oldest = sums.oldest.max(age(tenant.oldest_pending));
            reading.nodes += tenant.nodes;
        }
        reading
    }
}
