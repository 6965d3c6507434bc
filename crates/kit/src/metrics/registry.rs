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

use super::label::{LabelSet, MetricLabels};
use super::process::ProcessCollector;

pub type FloatGauge = Gauge<f64, AtomicU64>;

pub type CounterBy<L> = Family<LabelSet<L>, Counter>;

pub type GaugeBy<L> = Family<LabelSet<L>, Gauge>;

pub type HistogramBy<L> = Family<LabelSet<L>, Histogram, HistogramBuckets>;

#[derive(Clone, Copy, Debug)]
pub struct HistogramBuckets(&'static [f64]);

impl MetricConstructor<Histogram> for HistogramBuckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// All metrics of a process, registered at start. Every name is prefixed with `vmafx_` when it is encoded, and that of
/// a counter gets the suffix `_total`; neither is part of the name given here.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    own: Registry,
}

impl Metrics {
    /// Starts with `vmafx_build_info` and the `process_*` metrics.
    pub fn new(version: &str) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(ProcessCollector));
        let mut metrics = Self { registry, own: Registry::with_prefix("vmafx") };
        metrics.own.register("build", "What is running", Info::new([("version", version.to_owned())]));
        metrics
    }

    /// Metrics that only some pages have, without those of the process: see [`Self::encode_with`].
    pub fn section() -> Self {
        Self { registry: Registry::default(), own: Registry::with_prefix("vmafx") }
    }

    pub fn counter(&mut self, name: &'static str, help: &'static str) -> Counter {
        self.register(name, help, Counter::default())
    }

    pub fn counter_by<L: MetricLabels>(&mut self, name: &'static str, help: &'static str) -> CounterBy<L> {
        let family = self.register(name, help, CounterBy::<L>::default());
        create_series(&family);
        family
    }

    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> Gauge {
        self.register(name, help, Gauge::default())
    }

    pub fn float_gauge(&mut self, name: &'static str, help: &'static str) -> FloatGauge {
        self.register(name, help, FloatGauge::default())
    }

    /// A series appears when it is first set: a zero that was never measured would be wrong.
    pub fn gauge_by<L: MetricLabels>(&mut self, name: &'static str, help: &'static str) -> GaugeBy<L> {
        self.register(name, help, GaugeBy::<L>::default())
    }

    pub fn histogram(
        &mut self,
        name: &'static str,
        help: &'static str,
        buckets: &'static [f64],
    ) -> Histogram {
        self.register(name, help, HistogramBuckets(buckets).new_metric())
    }

    pub fn histogram_by<L: MetricLabels>(
        &mut self,
        name: &'static str,
        help: &'static str,
        buckets: &'static [f64],
    ) -> HistogramBy<L> {
        let family =
            self.register(name, help, HistogramBy::<L>::new_with_constructor(HistogramBuckets(buckets)));
        create_series(&family);
        family
    }

    /// Adds metrics that are collected at scrape time. Their names are used as they are, without `vmafx_`.
    pub fn collector(&mut self, collector: impl Collector) {
        self.registry.register_collector(Box::new(collector));
    }

    /// All metrics in the `OpenMetrics` text format, which Prometheus prefers.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        self.encode_with(&[])
    }

    /// One page of these metrics and those of the sections.
    pub fn encode_with(&self, sections: &[&Self]) -> Result<String, fmt::Error> {
        let mut page = String::new();
        for Self { registry, own } in [self].iter().chain(sections) {
            text::encode_registry(&mut page, own)?;
            text::encode_registry(&mut page, registry)?;
        }
        text::encode_eof(&mut page)?;
        Ok(page)
    }

    fn register<M: Metric + Clone>(&mut self, name: &'static str, help: &'static str, metric: M) -> M {
        self.own.register(name, help, metric.clone());
        metric
    }
}

/// Creates the series of closed labels, at zero.
fn create_series<L: MetricLabels, M, C: MetricConstructor<M>>(family: &Family<LabelSet<L>, M, C>) {
    for labels in L::all() {
        drop(family.get_or_create(&LabelSet(labels)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{OpenLabel, OpenLabelValue, OpenLabelValues};

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
        jobs.get_or_create(&LabelSet((Backend::Cuda, Outcome::Failed))).inc();
        assert!(has(&metrics, "vmafx_node_jobs_total{backend=\"cuda\",outcome=\"failed\"} 1"));
        assert!(has(&metrics, "vmafx_node_jobs_total{backend=\"cpu\",outcome=\"succeeded\"} 0"));
        assert!(has(&metrics, "vmafx_node_jobs_total{backend=\"cpu\",outcome=\"failed\"} 0"));
    }

    #[test]
    fn an_open_label_is_written_up_to_its_limit() {
        let mut metrics = Metrics::new("1");
        let tenants = OpenLabelValues::<Tenant>::new();
        let jobs = metrics.counter_by::<(OpenLabelValue<Tenant>,)>("controller_jobs_submitted", "Jobs taken");
        for name in ["acme", "evil\"1", "evil2"] {
            jobs.get_or_create(&LabelSet((tenants.get(name),))).inc();
        }
        assert!(has(&metrics, "vmafx_controller_jobs_submitted_total{tenant=\"acme\"} 1"));
        assert!(has(&metrics, "vmafx_controller_jobs_submitted_total{tenant=\"other\"} 2"));
    }

    #[test]
    fn a_label_without_a_value_is_not_written() {
        let mut section = Metrics::section();
        let jobs = section.counter_by::<(OpenLabelValue<Tenant>, Outcome)>("controller_jobs", "Jobs");
        jobs.get_or_create(&LabelSet((OpenLabelValue::none(), Outcome::Failed))).inc();
        let page = Metrics::new("1").encode_with(&[&section]).unwrap();
        assert!(page.contains("\nvmafx_controller_jobs_total{outcome=\"failed\"} 1\n"), "{page}");
        assert!(page.contains("\nvmafx_build_info") && page.ends_with("# EOF\n"), "{page}");
        assert_eq!(page.matches("# EOF").count(), 1);
    }

    #[test]
    fn histograms_have_the_buckets_they_were_given() {
        let mut metrics = Metrics::new("1");
        let durations = metrics.histogram_by::<(Backend,)>("node_job_duration_seconds", "Time", &[1.0, 5.0]);
        durations.get_or_create(&LabelSet((Backend::Cpu,))).observe(2.0);
        assert!(has(&metrics, "vmafx_node_job_duration_seconds_bucket{le=\"1.0\",backend=\"cpu\"} 0"));
        assert!(has(&metrics, "vmafx_node_job_duration_seconds_bucket{le=\"5.0\",backend=\"cpu\"} 1"));
    }
}
