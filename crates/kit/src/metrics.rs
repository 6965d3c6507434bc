//! Prometheus metrics whose number of series is bounded by construction.
//!
//! A label that takes any value that a client sends would use memory without bound. So a label here is either
//! *closed*, an enum made by [`closed_label!`](crate::closed_label), or *open* but limited ([`OpenLabelValue`]): beyond
//! a number of values every further one is counted as `other`. A plain string cannot be passed.
//!
//! The series of closed labels exist from the start, at zero: Prometheus does not see the first increment of a
//! series that did not exist before it, and an alert on `rate(…_failed_total)` would miss the first failure.

mod endpoint;
mod label;
mod open;
mod process;
mod registry;

pub use endpoint::{response, router};
pub use label::{LabelSet, MetricLabel, MetricLabels};
pub use open::{OpenLabel, OpenLabelValue, OpenLabelValues};
pub use prometheus_client::collector::Collector;
pub use prometheus_client::metrics::counter::Counter;
pub use prometheus_client::metrics::gauge::Gauge;
pub use prometheus_client::metrics::histogram::Histogram;
pub use registry::{CounterBy, FloatGauge, GaugeBy, HistogramBy, Metrics};

/// Histogram buckets for requests that a caller waits for.
pub const REQUEST_SECONDS: &[f64] =
    &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0];

/// Histogram buckets for jobs.
pub const JOB_SECONDS: &[f64] =
    &[1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0];

/// Histogram buckets for quality scores: fine where scores of real encodings lie.
pub const SCORE: &[f64] =
    &[20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 88.0, 90.0, 92.0, 94.0, 96.0, 98.0, 100.0];
