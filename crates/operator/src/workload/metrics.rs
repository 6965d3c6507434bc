//! What is counted about workloads.

use vmafx_kit::closed_label;
use vmafx_kit::metrics::{By, CounterBy, Metrics};

use super::decide::{Decision, Refusal, ReplaceReason};

closed_label! {
    /// What was decided, in a word.
    pub enum WorkloadDecision: "decision" {
        /// Made.
        Create = "create",
        /// Made again.
        Recreate = "recreate",
        /// Found again.
        Retrack = "retrack",
        /// Taken over.
        Adopt = "adopt",
        /// Kept.
        Keep = "keep",
        /// Deleted, because it was not ours.
        ReplaceImpostor = "replace_impostor",
        /// Deleted, because it cannot be changed in place.
        ReplaceImmutable = "replace_immutable",
        /// Waited for its end.
        Wait = "wait",
        /// Left to another controller.
        RefuseForeignOwner = "refuse_foreign_owner",
        /// Left, because it cannot be made ours.
        RefuseIncompatible = "refuse_incompatible",
        /// Left, because it was taken out of our hands.
        RefuseHandedOver = "refuse_handed_over",
        /// Left, because it was replaced too often.
        RefuseReplaceLoop = "refuse_replace_loop",
        /// Left to garbage collection.
        Leave = "leave",
    }
}

impl From<&Decision> for WorkloadDecision {
    fn from(decision: &Decision) -> Self {
        match decision {
            Decision::Create => Self::Create,
            Decision::Recreate { .. } => Self::Recreate,
            Decision::Retrack { .. } => Self::Retrack,
            Decision::Adopt { .. } => Self::Adopt,
            Decision::Keep { .. } => Self::Keep,
            Decision::Replace { reason: ReplaceReason::Impostor, .. } => Self::ReplaceImpostor,
            Decision::Replace { reason: ReplaceReason::ImmutableDrift, .. } => Self::ReplaceImmutable,
            Decision::Wait { .. } => Self::Wait,
            Decision::Refuse(Refusal::ForeignOwner) => Self::RefuseForeignOwner,
            Decision::Refuse(Refusal::Incompatible) => Self::RefuseIncompatible,
            Decision::Refuse(Refusal::HandedOver) => Self::RefuseHandedOver,
            Decision::Refuse(Refusal::ReplaceLoop) => Self::RefuseReplaceLoop,
            Decision::Leave => Self::Leave,
        }
    }
}

/// The metrics of all workloads.
#[derive(Clone, Debug)]
pub struct WorkloadMetrics {
    decisions: CounterBy<(WorkloadDecision,)>,
}

impl WorkloadMetrics {
    /// Makes them.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            decisions: metrics.counter_by(
                "operator_workload_decisions",
                "What was done about StatefulSets, once per look; anything but keep and leave is rare",
            ),
        }
    }

    pub(super) fn decided(&self, decision: &Decision) {
        self.decisions.get_or_create(&By((decision.into(),))).inc();
    }
}
