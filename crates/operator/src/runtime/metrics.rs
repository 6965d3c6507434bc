//! Metrics of watches and reconciles.

use vmafx_api::conditions::Reason;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, GaugeBy, HistogramBy, MetricLabel, Metrics};

closed_label! {
    pub enum WatchedKind: "kind" {
        Job = "VmafxJob",
        BatchJob = "Job",
        Pod = "Pod",
        Node = "VmafxNode",
        Training = "VmafxModelTraining",
        StatefulSet = "StatefulSet",
        Service = "Service",
        ServiceAccount = "ServiceAccount",
        PodDisruptionBudget = "PodDisruptionBudget",
    }
}

closed_label! {
    pub enum ReconcileOutcome: "outcome" {
        Done = "done",
        Failed = "failed",
        TimedOut = "timed_out",
        Panicked = "panicked",
    }
}

/// Why a reconcile failed; the same reason as in the resource's condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReasonLabel(pub Reason);

impl MetricLabel for ReasonLabel {
    const NAME: &'static str = "reason";

    fn value(&self) -> &'static str {
        self.0.as_str()
    }

    /// The reasons of failed requests; the series of others appear when they first occur.
    fn all() -> Vec<Self> {
        [Reason::SyncFailed, Reason::Invalid, Reason::Forbidden].map(Self).to_vec()
    }
}

/// Buckets in seconds; most reconciles send no request.
const RECONCILE_SECONDS: &[f64] = &[0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0];

#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    pub(super) seconds: HistogramBy<(WatchedKind, ReconcileOutcome)>,
    pub(super) failures: CounterBy<(WatchedKind, ReasonLabel)>,
    pub(super) depth: GaugeBy<(WatchedKind,)>,
    pub(super) working: GaugeBy<(WatchedKind,)>,
    pub(super) restarts: CounterBy<(WatchedKind,)>,
    pub(super) watch_errors: CounterBy<(WatchedKind,)>,
    pub(super) undecodable: CounterBy<(WatchedKind,)>,
    pub(super) objects: GaugeBy<(WatchedKind,)>,
}

impl RuntimeMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            seconds: metrics.histogram_by(
                "operator_reconcile_seconds",
                "Time of one reconcile; a long tail means that the API server is slow",
                RECONCILE_SECONDS,
            ),
            failures: metrics.counter_by(
                "operator_reconcile_failures",
                "Failed reconciles, by the reason that the resource's condition has",
            ),
            depth: metrics.gauge_by(
                "operator_queue_depth",
                "Resources that wait to be reconciled; it should return to 0 within seconds",
            ),
            working: metrics.gauge_by("operator_reconciles_running", "Running reconciles"),
            restarts: metrics.counter_by(
                "operator_watch_restarts",
                "Repeated lists because a watch could not be resumed; more than a few per hour mean trouble",
            ),
            watch_errors: metrics
                .counter_by("operator_watch_errors", "Errors of a watch, each followed by a back-off"),
            undecodable: metrics.counter_by(
                "operator_undecodable_objects",
                "Objects that could not be decoded and are ignored",
            ),
            objects: metrics.gauge_by("operator_cached_objects", "Objects in the cache"),
        }
    }
}
