//! Metrics of a node, under the names that dashboards use.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use vmafx_job::Backend;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, HistogramBy, JOB_SECONDS, LabelSet, MetricLabel, Metrics};

use crate::machine::device::Vendor;

closed_label! {
    pub(super) enum JobOutcome: "outcome" {
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
        Released = "released",
        /// The node had lost the attempt, or the controller did not accept the result.
        Lost = "lost",
        /// The node shut down before the controller answered; the next process reports the result.
        Undelivered = "undelivered",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BackendLabel(Backend);

impl MetricLabel for BackendLabel {
    const NAME: &'static str = "backend";

    fn value(&self) -> &'static str {
        self.0.name()
    }

    fn all() -> Vec<Self> {
        Backend::ALL.map(Self).to_vec()
    }
}

impl MetricLabel for Vendor {
    const NAME: &'static str = "vendor";

    fn value(&self) -> &'static str {
        self.name()
    }

    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
}

#[derive(Clone, Debug)]
pub struct NodeMetrics {
    backend: BackendLabel,
    running: Gauge,
    pub(super) reports_pending: Gauge,
    jobs: CounterBy<(BackendLabel, JobOutcome)>,
    seconds: HistogramBy<(BackendLabel,)>,
}

impl NodeMetrics {
    pub fn new(metrics: &mut Metrics, backend: Backend, slots: i64) -> Self {
        let vendor = Vendor::of_backend(backend);
        let backend = BackendLabel(backend);
        let info = metrics.gauge_by::<(BackendLabel, Vendor)>("node_info", "Backend of this node, always 1");
        info.get_or_create(&LabelSet((backend, vendor))).set(1);
        metrics.gauge("node_slots", "Jobs that this node runs at once").set(slots);
        Self {
            backend,
            running: metrics.gauge("node_jobs_running", "Jobs that run on this node"),
            reports_pending: metrics
                .gauge("node_reports_pending", "Finished results that the controller has not answered"),
            jobs: metrics.counter_by("node_jobs", "Jobs that ended on this node, by outcome"),
            seconds: metrics.histogram_by("node_job_duration_seconds", "Duration of jobs", JOB_SECONDS),
        }
    }

    /// Counts a job as running until the value is dropped.
    pub(super) fn job_started(&self) -> RunningJobCount {
        self.running.inc();
        RunningJobCount(self.running.clone())
    }

    pub(super) fn job_ended(&self, outcome: JobOutcome, elapsed: Duration) {
        self.jobs.get_or_create(&LabelSet((self.backend, outcome))).inc();
        self.seconds.get_or_create(&LabelSet((self.backend,))).observe(elapsed.as_secs_f64());
    }
}

pub(super) struct RunningJobCount(Gauge);

impl Drop for RunningJobCount {
    fn drop(&mut self) {
        self.0.dec();
    }
}
