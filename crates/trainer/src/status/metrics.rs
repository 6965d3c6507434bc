use std::time::Duration;

use vmafx_kit::metrics::{
    Counter, CounterBy, FloatGauge, Gauge, Histogram, LabelSet, Metrics, OpenLabel, OpenLabelValue,
    OpenLabelValues,
};

use super::quality::QualityCollector;
use super::shared::SharedStatus;
use crate::learner::{LabellerSummary, RefusalReason};

const PUSH_SECONDS_BUCKETS: &[f64] = &[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Why a sample was refused, or a push failed.
#[derive(Debug)]
struct ReasonLabel;

impl OpenLabel for ReasonLabel {
    const NAME: &'static str = "reason";
    const LIMIT: usize = 32;
}

/// Clones share the same series.
#[derive(Clone, Debug)]
pub struct TrainerMetrics {
    samples: Counter,
    refused: CounterBy<(OpenLabelValue<ReasonLabel>,)>,
    pending: Gauge,
    connected: Gauge,
    resets: Counter,
    checkpoints: Counter,
    push_failures: CounterBy<(OpenLabelValue<ReasonLabel>,)>,
    push_seconds: Histogram,
    last_checkpoint: FloatGauge,
    labellers: Gauge,
    largest_labeller_share: FloatGauge,
    reasons: std::sync::Arc<OpenLabelValues<ReasonLabel>>,
}

impl TrainerMetrics {
    /// Registers the series. Those of the model's quality are read from the status at scrape time.
    pub fn new(metrics: &mut Metrics, status: &SharedStatus) -> Self {
        metrics.collector(QualityCollector(status.clone()));
        let new = Self {
            samples: metrics.counter("trainer_samples", "Accepted samples"),
            refused: metrics.counter_by("trainer_samples_refused", "Samples refused, by reason"),
            pending: metrics.gauge("trainer_samples_pending", "Accepted samples that no checkpoint contains"),
            connected: metrics.gauge("trainer_stream_connected", "1 while the sample stream is connected"),
            resets: metrics
                .counter("trainer_stream_resets", "Times that the controller rejected the trainer's cursor"),
            checkpoints: metrics.counter("trainer_checkpoints", "Checkpoints pushed to the registry"),
            push_failures: metrics
                .counter_by("trainer_checkpoint_push_failures", "Failed pushes of checkpoints, by reason"),
            push_seconds: metrics.histogram(
                "trainer_checkpoint_push_seconds",
                "Duration of a checkpoint, from the snapshot to the registry's last response",
                PUSH_SECONDS_BUCKETS,
            ),
            last_checkpoint: metrics.float_gauge(
                "trainer_last_checkpoint_timestamp_seconds",
                "Unix time of the latest checkpoint; 0 if there is none",
            ),
            labellers: metrics.gauge("trainer_labellers", "Labellers of the most recent samples"),
            largest_labeller_share: metrics.float_gauge(
                "trainer_largest_labeller_share",
                "Share of the most recent samples that one labeller gave, of the one that gave most",
            ),
            reasons: std::sync::Arc::new(OpenLabelValues::new()),
        };
        // Series with the value 0 exist from the start, so that a rate over them is defined.
        for reason in RefusalReason::ALL {
            drop(new.refused.get_or_create(&LabelSet((new.reasons.get(reason.as_str()),))));
        }
        new
    }

    pub fn learned(&self) {
        self.samples.inc();
    }

    pub fn refused(&self, reason: RefusalReason) {
        self.refused.get_or_create(&LabelSet((self.reasons.get(reason.as_str()),))).inc();
    }

    pub fn pending(&self, count: u64) {
        self.pending.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub fn connected(&self) {
        self.connected.set(1);
    }

    pub fn disconnected(&self) {
        self.connected.set(0);
    }

    pub fn reset(&self) {
        self.resets.inc();
    }

    pub fn pushed(&self, took: Duration) {
        self.checkpoints.inc();
        self.push_seconds.observe(took.as_secs_f64());
    }

    pub fn last_checkpoint(&self, at: jiff::Timestamp) {
        self.last_checkpoint.set(at.as_duration().as_secs_f64());
    }

    pub fn labellers(&self, summary: LabellerSummary) {
        self.labellers.set(i64::try_from(summary.labellers).unwrap_or(i64::MAX));
        self.largest_labeller_share.set(summary.largest_share);
    }

    pub fn push_failed(&self, reason: &str) {
        self.push_failures.get_or_create(&LabelSet((self.reasons.get(reason),))).inc();
    }
}
