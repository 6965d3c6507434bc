//! What a node counts, under the names that dashboards know.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, HistogramBy, LabelSet, Metrics};

const SECONDS: &[f64] = &[1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0];

closed_label! {
    /// What is computed on.
    pub enum Backend: "backend" {
        /// The processor.
        Cpu = "cpu",
        /// NVIDIA's.
        Cuda = "cuda",
        /// Intel's.
        Sycl = "sycl",
        /// AMD's.
        Hip = "hip",
        /// Apple's.
        Metal = "metal",
    }
}

closed_label! {
    /// How a job ended here.
    pub enum Outcome: "outcome" {
        /// With a score.
        Completed = "completed",
        /// Without one.
        Failed = "failed",
        /// It was not wanted any more.
        Cancelled = "cancelled",
        /// It was given back.
        Released = "released",
        /// It belonged to somebody else by then, or nobody heard the result.
        Lost = "lost",
    }
}

closed_label! {
    /// Whose device it is.
    pub enum Maker: "vendor" {
        /// None in particular.
        Cpu = "cpu",
        /// CUDA.
        Nvidia = "nvidia",
        /// HIP.
        Amd = "amd",
        /// SYCL.
        Intel = "intel",
        /// Metal.
        Apple = "apple",
    }
}

impl Backend {
    /// The backend of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        use vmafx_kit::metrics::MetricLabel as _;
        Self::all().into_iter().find(|backend| backend.value() == name)
    }

    /// Whose devices it computes on.
    pub const fn maker(self) -> Maker {
        match self {
            Self::Cpu => Maker::Cpu,
            Self::Cuda => Maker::Nvidia,
            Self::Sycl => Maker::Intel,
            Self::Hip => Maker::Amd,
            Self::Metal => Maker::Apple,
        }
    }
}

/// What a node counts.
#[derive(Clone, Debug)]
pub struct NodeMetrics {
    backend: Backend,
    running: Gauge,
    jobs: CounterBy<(Backend, Outcome)>,
    seconds: HistogramBy<(Backend,)>,
}

impl NodeMetrics {
    /// Registers them.
    pub fn new(metrics: &mut Metrics, backend: Backend, slots: i64) -> Self {
        let info = metrics.gauge_by::<(Backend, Maker)>("node_info", "What this node computes on");
        info.get_or_create(&LabelSet((backend, backend.maker()))).set(1);
        metrics.gauge("node_slots", "Jobs this node runs at once").set(slots);
        Self {
            backend,
            running: metrics.gauge("node_jobs_running", "Jobs this node runs"),
            jobs: metrics.counter_by("node_jobs", "Jobs that ended here, by how"),
            seconds: metrics.histogram_by("node_job_duration_seconds", "How long jobs took", SECONDS),
        }
    }

    /// Counts a job as running until the value is dropped.
    pub(super) fn begin(&self) -> Counted {
        self.running.inc();
        Counted(self.running.clone())
    }

    pub(super) fn end(&self, outcome: Outcome, elapsed: Duration) {
        self.jobs.get_or_create(&LabelSet((self.backend, outcome))).inc();
        self.seconds.get_or_create(&LabelSet((self.backend,))).observe(elapsed.as_secs_f64());
    }
}

/// A job that is counted as running.
pub(super) struct Counted(Gauge);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
