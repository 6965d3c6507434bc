//! What is counted about the runtime.

use vmafx_api::conditions::Reason;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, GaugeBy, HistogramBy, Label, Metrics};

closed_label! {
    /// A kind that is watched.
    pub enum WatchedKind: "kind" {
        /// Pairs of clips to score.
        Job = "VmafxJob",
        /// What runs those that have a Pod of their own.
        BatchJob = "Job",
        /// Where they run.
        Pod = "Pod",
        /// WorkerCounts.
        Node = "VmafxNode",
        /// Training runs.
        Training = "VmafxModelTraining",
        /// What runs workers and trainers.
        StatefulSet = "StatefulSet",
        /// What names them.
        Service = "Service",
        /// What protects them.
        PodDisruptionBudget = "PodDisruptionBudget",
    }
}

closed_label! {
    /// How a reconcile ended.
    pub enum ReconcileOutcome: "outcome" {
        /// There was nothing to do, or it was done.
        Done = "done",
        /// It failed and is tried again.
        Failed = "failed",
        /// It took too long.
        TimedOut = "timed_out",
        /// It has a bug.
        Panicked = "panicked",
    }
}

/// ReasonLabel a reconcile failed, in the word that its condition has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReasonLabel(pub Reason);

impl Label for ReasonLabel {
    const NAME: &'static str = "reason";

    fn value(&self) -> &'static str {
        self.0.as_str()
    }

    /// Those that a failed request can have; others appear when they are first seen.
    fn all() -> Vec<Self> {
        [Reason::SyncFailed, Reason::Invalid, Reason::Forbidden].map(Self).to_vec()
    }
}

/// Buckets for reconciles, in seconds: most make no request at all.
const RECONCILE_SECONDS: &[f64] = &[0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0];

/// The metrics of all controllers and watches.
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
    /// Makes them.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            seconds: metrics.histogram_by(
                "operator_reconcile_seconds",
                "Time of one reconcile; a long tail means that the API server is slow",
                RECONCILE_SECONDS,
            ),
            failures: metrics.counter_by(
                "operator_reconcile_failures",
                "Reconciles that did not reach their end, by the reason that the resource's condition gives",
            ),
            depth: metrics.gauge_by(
                "operator_queue_depth",
                "Resources that wait for a worker; it should return to 0 within seconds",
            ),
            working: metrics.gauge_by("operator_reconciles_running", "Reconciles under way"),
            restarts: metrics.counter_by(
                "operator_watch_restarts",
                "Lists made anew because a watch could not go on; more than a few per hour mean trouble",
            ),
            watch_errors: metrics
                .counter_by("operator_watch_errors", "Errors of a watch, each followed by a pause"),
            undecodable: metrics.counter_by(
                "operator_undecodable_objects",
                "Objects seen that do not fit their type and are left alone",
            ),
            objects: metrics.gauge_by("operator_cached_objects", "Objects that are known"),
        }
    }
}
