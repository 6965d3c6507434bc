//! Metrics of the model's quality, computed at scrape time.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::LabelSet;

use super::shared::SharedStatus;
use crate::learner::QualityMetrics;

closed_label! {
    enum ModelLabel: "model" {
        Learned = "learned",
        Base = "base",
    }
}

closed_label! {
    enum WindowLabel: "window" {
        All = "all",
        Recent = "recent",
    }
}

/// Name, help text and value of a metric.
type Measure = (&'static str, &'static str, fn(&QualityMetrics) -> Option<f64>);

const MEASURES: [Measure; 3] = [
    ("vmafx_trainer_rmse", "Root mean squared error of predictions before learning", |metrics| {
        (metrics.count > 0).then_some(metrics.rmse)
    }),
    ("vmafx_trainer_plcc", "Pearson correlation of such predictions with labels", |metrics| metrics.plcc),
    ("vmafx_trainer_srocc", "Spearman rank correlation of such predictions with labels", |metrics| {
        metrics.srocc
    }),
];

/// Omits metrics that are not defined yet, because a zero would be wrong.
#[derive(Debug)]
pub(super) struct QualityCollector(pub(super) SharedStatus);

impl Collector for QualityCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(evaluation) = self.0.read(|status| status.evaluation.clone()) else { return Ok(()) };
        let all = [
            (ModelLabel::Learned, WindowLabel::All, &evaluation.all.model),
            (ModelLabel::Base, WindowLabel::All, &evaluation.all.base),
            (ModelLabel::Learned, WindowLabel::Recent, &evaluation.window.model),
            (ModelLabel::Base, WindowLabel::Recent, &evaluation.window.base),
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
