//! What is counted at the gate.

use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, Gauge, LabelSet, Metrics};

use super::cause::Outcome;

closed_label! {
    /// How reading a key set ended.
    pub enum Fetched: "result" {
        /// The keys are there.
        Ok = "ok",
        /// They are not.
        Failed = "failed",
    }
}

/// The gate's metrics. Clones count into the same; a default one counts for nobody.
#[derive(Clone, Debug, Default)]
pub struct AuthMetrics {
    calls: CounterBy<(Outcome,)>,
    fetches: CounterBy<(Fetched,)>,
    disabled: Gauge,
}

impl AuthMetrics {
    /// Adds them to the metrics of the process.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            calls: metrics.counter_by("controller_auth", "Calls, by what the gate made of them"),
            fetches: metrics.counter_by("controller_auth_key_fetches", "Attempts to read an issuer's keys"),
            disabled: metrics.gauge("controller_auth_disabled", "1 when everybody may do everything"),
        }
    }

    /// A call was dealt with.
    pub fn call(&self, outcome: Outcome) {
        self.calls.get_or_create(&LabelSet((outcome,))).inc();
    }

    /// How many calls fared so.
    pub fn calls(&self, outcome: Outcome) -> u64 {
        self.calls.get_or_create(&LabelSet((outcome,))).get()
    }

    pub(super) fn fetch(&self, fetched: Fetched) {
        self.fetches.get_or_create(&LabelSet((fetched,))).inc();
    }

    pub(super) fn disabled(&self) {
        self.disabled.set(1);
    }
}
