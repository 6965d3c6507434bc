//! What a trainer counts.

use std::time::Duration;

use vmafx_kit::metrics::{
    By, Counter, CounterBy, FloatGauge, Gauge, Histogram, Metrics, Open, OpenLabel, OpenValues,
};

use super::board::Board;
use super::quality::Quality;
use crate::learner::RefusalKind;

const SECONDS: &[f64] = &[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Why a sample was refused, or a push failed.
#[derive(Debug)]
struct Reason;

impl OpenLabel for Reason {
    const NAME: &'static str = "reason";
    const LIMIT: usize = 32;
}

/// What a trainer counts. Clones are the same counters.
#[derive(Clone, Debug)]
pub struct TrainerMetrics {
    samples: Counter,
    refused: CounterBy<(Open<Reason>,)>,
    pending: Gauge,
    connected: Gauge,
    resets: Counter,
    checkpoints: Counter,
    failures: CounterBy<(Open<Reason>,)>,
    seconds: Histogram,
    last: FloatGauge,
    reasons: std::sync::Arc<OpenValues<Reason>>,
}

impl TrainerMetrics {
    /// Registers them; how good the model is is read from the board.
    pub fn new(metrics: &mut Metrics, board: &Board) -> Self {
        metrics.collector(Quality(board.clone()));
        let new = Self {
            samples: metrics.counter("trainer_samples", "Samples learned from"),
            refused: metrics.counter_by("trainer_samples_refused", "Samples refused, by reason"),
            pending: metrics
                .gauge("trainer_samples_pending", "Samples learned from that are in no checkpoint"),
            connected: metrics.gauge("trainer_stream_connected", "1 while the controller sends samples"),
            resets: metrics.counter(
                "trainer_stream_resets",
                "Times that the controller did not know our place in its samples",
            ),
            checkpoints: metrics.counter("trainer_checkpoints", "Checkpoints that reached the registry"),
            failures: metrics
                .counter_by("trainer_checkpoint_push_failures", "Checkpoints that did not, by reason"),
            seconds: metrics.histogram(
                "trainer_checkpoint_push_seconds",
                "How long a checkpoint took, from the snapshot to the registry's last answer",
                SECONDS,
            ),
            last: metrics.float_gauge(
                "trainer_last_checkpoint_timestamp_seconds",
                "When the last checkpoint was made, in Unix time; 0 is never",
            ),
            reasons: std::sync::Arc::new(OpenValues::new()),
        };
        for kind in RefusalKind::ALL {
            drop(new.refused.get_or_create(&By((new.reasons.get(kind.as_str()),))));
        }
        new
    }

    pub fn learned(&self) {
        self.samples.inc();
    }

    /// A sample was refused.
    pub fn refused(&self, kind: RefusalKind) {
        self.refused.get_or_create(&By((self.reasons.get(kind.as_str()),))).inc();
    }

    /// So many samples are in no checkpoint.
    pub fn pending(&self, count: u64) {
        self.pending.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Samples come.
    pub fn connected(&self) {
        self.connected.set(1);
    }

    /// They do not.
    pub fn disconnected(&self) {
        self.connected.set(0);
    }

    /// The place in the stream was lost.
    pub fn reset(&self) {
        self.resets.inc();
    }

    /// A checkpoint reached the registry.
    pub fn pushed(&self, took: Duration) {
        self.checkpoints.inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// The time of the last one.
    pub fn last_checkpoint(&self, at: jiff::Timestamp) {
        self.last.set(at.as_duration().as_secs_f64());
    }

    /// A checkpoint did not.
    pub fn push_failed(&self, reason: &str) {
        self.failures.get_or_create(&By((self.reasons.get(reason),))).inc();
    }
}
