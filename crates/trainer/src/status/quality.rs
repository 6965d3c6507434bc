//! How good the model is, read at scrape time.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::LabelSet;

use super::board::Board;
use crate::learner::Metrics;

closed_label! {
    /// Whose predictions.
    enum Model: "model" {
        /// What was learned.
        Learned = "learned",
        /// What it began with.
        Base = "base",
    }
}

closed_label! {
    /// On which samples.
    enum Window: "window" {
        /// Every one.
        All = "all",
        /// The newest.
        Recent = "recent",
    }
}

/// A measure: its name, what it is, and where it is found.
type Measure = (&'static str, &'static str, fn(&Metrics) -> Option<f64>);

const MEASURES: [Measure; 3] = [
    ("vmafx_trainer_rmse", "Error of predictions made before the sample was learned from", |metrics| {
        (metrics.count > 0).then_some(metrics.rmse)
    }),
    ("vmafx_trainer_plcc", "Correlation of such predictions with people", |metrics| metrics.plcc),
    ("vmafx_trainer_srocc", "Rank correlation of such predictions with people", |metrics| metrics.srocc),
];

/// What the board says of the model. A measure that there is not yet is left out: a zero would be a lie.
#[derive(Debug)]
pub(super) struct Quality(pub(super) Board);

impl Collector for Quality {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(evaluation) = self.0.read(|status| status.evaluation.clone()) else { return Ok(()) };
        let all = [
            (Model::Learned, Window::All, &evaluation.all.model),
            (Model::Base, Window::All, &evaluation.all.base),
            (Model::Learned, Window::Recent, &evaluation.window.model),
            (Model::Base, Window::Recent, &evaluation.window.base),
        ];
        for (name, help, measure) in MEASURES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (model, window, metrics) in all {
                if let Some(value) = measure(metrics) {
                    ConstGauge::new(value).encode(family.encode_family(&LabelSet((model, window)))?)?;
                }
            }
        }
        Ok(())
    }
}
