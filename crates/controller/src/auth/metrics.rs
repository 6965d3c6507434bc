use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, Gauge, LabelSet, Metrics};

use super::outcome::AuthOutcome;

closed_label! {
    pub enum KeyFetchResult: "result" {
        Ok = "ok",
        Failed = "failed",
    }
}

/// Clones share their counters. A default instance is not exported.
#[derive(Clone, Debug, Default)]
pub struct AuthMetrics {
    calls: CounterBy<(AuthOutcome,)>,
    fetches: CounterBy<(KeyFetchResult,)>,
    disabled: Gauge,
}

impl AuthMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            calls: metrics.counter_by(
                "controller_auth",
                "Calls by the outcome of their authentication and authorization",
            ),
            fetches: metrics.counter_by("controller_auth_key_fetches", "Attempts to fetch an issuer's keys"),
            disabled: metrics.gauge("controller_auth_disabled", "1 while authentication is disabled"),
        }
    }

    pub fn call(&self, outcome: AuthOutcome) {
        self.calls.get_or_create(&LabelSet((outcome,))).inc();
    }

    pub fn calls(&self, outcome: AuthOutcome) -> u64 {
        self.calls.get_or_create(&LabelSet((outcome,))).get()
    }

    pub(super) fn fetch(&self, fetched: KeyFetchResult) {
        self.fetches.get_or_create(&LabelSet((fetched,))).inc();
    }

    pub(super) fn disabled(&self) {
        self.disabled.set(1);
    }
}
