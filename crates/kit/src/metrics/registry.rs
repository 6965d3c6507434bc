//! The metrics of a process.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

use super::label::{By, Labels};
use super::process::Process;

/// A gauge of fractions.
pub type FloatGauge = Gauge<f64, AtomicU64>;

/// Counters split by labels.
pub type CounterBy<L> = Family<By<L>, Counter>;

/// Gauges split by labels.
pub type GaugeBy<L> = Family<By<L>, Gauge>;

/// Histograms split by labels.
pub type HistogramBy<L> = Family<By<L>, Histogram, Buckets>;

/// The bounds of a histogram's buckets.
#[derive(Clone, Copy, Debug)]
pub struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// All metrics of a process. Metrics are made here at start and handed to those who count; all names begin with
/// `vmafx_`, and those of counters end in `_total` on the wire without it being part of the name given here.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    own: Registry,
}

impl Metrics {
    /// Build information and what the kernel knows of the process.
    pub fn new(version: &str) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process));
        let mut metrics = Self { registry, own: Registry::with_prefix("vmafx") };
        metrics.own.register("build", "What is running", Info::new([("version", version.to_owned())]));
        metrics
    }

    /// Counts events.
    pub fn counter(&mut self, name: &'static str, help: &'static str) -> Counter {
        self.keep(name, help, Counter::default())
    }

    /// Counts events by label.
    pub fn counter_by<L: Labels>(&mut self, name: &'static str, help: &'static str) -> CounterBy<L> {
        let family = self.keep(name, help, CounterBy::<L>::default());
        start(&family);
        family
    }

    /// Shows a number that goes up and down.
    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> Gauge {
        self.keep(name, help, Gauge::default())
    }

    /// Shows a fraction that goes up and down.
    pub fn float_gauge(&mut self, name: &'static str, help: &'static str) -> FloatGauge {
        self.keep(name, help, FloatGauge::default())
    }

    /// Shows numbers by label. They appear when they are first set: a zero that nobody measured would be a lie.
    pub fn gauge_by<L: Labels>(&mut self, name: &'static str, help: &'static str) -> GaugeBy<L> {
        self.keep(name, help, GaugeBy::<L>::default())
    }

    /// Shows how values are spread.
    pub fn histogram(
        &mut self,
        name: &'static str,
        help: &'static str,
        buckets: &'static [f64],
    ) -> Histogram {
        self.keep(name, help, Buckets(buckets).new_metric())
    }

    /// Shows how values are spread, by label.
    pub fn histogram_by<L: Labels>(
        &mut self,
        name: &'static str,
        help: &'static str,
        buckets: &'static [f64],
    ) -> HistogramBy<L> {
        let family = self.keep(name, help, HistogramBy::<L>::new_with_constructor(Buckets(buckets)));
        start(&family);
        family
    }

    /// Adds metrics that are read at scrape time. Their names are used as they are, without `vmafx_`.
    pub fn collector(&mut self, collector: impl Collector) {
        self.registry.register_collector(Box::new(collector));
    }

    /// All metrics as `OpenMetrics` text, which Prometheus asks for first.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode_registry(&mut page, &self.own)?;
        text::encode_registry(&mut page, &self.registry)?;
        text::encode_eof(&mut page)?;
        Ok(page)
    }

    fn keep<M: Metric + Clone>(&mut self, name: &'static str, help: &'static str, metric: M) -> M {
        self.own.register(name, help, metric.clone());
        metric
    }
}

/// Makes the series of closed labels exist, at zero.
fn start<L: Labels, M, C: MetricConstructor<M>>(family: &Family<By<L>, M, C>) {
    for labels in L::all() {
        drop(family.get_or_create(&By(labels)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Open, OpenLabel, OpenValues};

    crate::closed_label! {
        enum Outcome: "outcome" { Succeeded = "succeeded", Failed = "failed" }
    }

    crate::closed_label! {
        enum Backend: "backend" { Cpu = "cpu", Cuda = "cuda" }
    }

    #[derive(Debug)]
    struct Tenant;

    impl OpenLabel for Tenant {
        const NAME: &'static str = "tenant";
        const LIMIT: usize = 1;
    }

    fn has(metrics: &Metrics, line: &str) -> bool {
        metrics.encode().unwrap().lines().any(|l| l == line)
    }

    #[test]
    fn says_which_version_runs() {
        assert!(has(&Metrics::new("1.2.3"), "vmafx_build_info{version=\"1.2.3\"} 1"));
    }

    #[test]
    fn every_combination_of_closed_labels_starts_at_zero() {
        let mut metrics = Metrics::new("1");
        let jobs = metrics.counter_by::<(Backend, Outcome)>("node_jobs", "Jobs done");
        jobs.get_or_create(&By((Backend::Cuda, Outcome::Failed))).inc();
        assert!(has(&metrics, "vmafx_node_jobs_total{backend=\"cuda\",outcome=\"failed\"} 1"));
        assert!(has(&metrics, "vmafx_node_jobs_total{backend=\"cpu\",outcome=\"succeeded\"} 0"));
        assert!(has(&metrics, "vmafx_node_jobs_total{backend=\"cpu\",outcome=\"failed\"} 0"));
    }

    #[test]
    fn an_open_label_is_written_up_to_its_limit() {
        let mut metrics = Metrics::new("1");
        let tenants = OpenValues::<Tenant>::new();
        let jobs = metrics.counter_by::<(Open<Tenant>,)>("controller_jobs_submitted", "Jobs taken");
        for name in ["acme", "evil\"1", "evil2"] {
            jobs.get_or_create(&By((tenants.get(name),))).inc();
        }
        assert!(has(&metrics, "vmafx_controller_jobs_submitted_total{tenant=\"acme\"} 1"));
        assert!(has(&metrics, "vmafx_controller_jobs_submitted_total{tenant=\"other\"} 2"));
    }

    #[test]
    fn histograms_have_the_buckets_they_were_given() {
        let mut metrics = Metrics::new("1");
        let spread = metrics.histogram_by::<(Backend,)>("node_job_duration_seconds", "Time", &[1.0, 5.0]);
        spread.get_or_create(&By((Backend::Cpu,))).observe(2.0);
        assert!(has(&metrics, "vmafx_node_job_duration_seconds_bucket{le=\"1.0\",backend=\"cpu\"} 0"));
        assert!(has(&metrics, "vmafx_node_job_duration_seconds_bucket{le=\"5.0\",backend=\"cpu\"} 1"));
    }
}
