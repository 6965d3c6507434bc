//! What is counted about workloads.

use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, LabelSet, Metrics};

use super::decide::{RefusalReason, ReplaceReason, WorkloadDecision};

closed_label! {
    /// What was decided, in a word.
    pub enum DecisionLabel: "decision" {
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

impl From<&WorkloadDecision> for DecisionLabel {
    fn from(decision: &WorkloadDecision) -> Self {
        match decision {
            WorkloadDecision::Create => Self::Create,
            WorkloadDecision::Recreate { .. } => Self::Recreate,
            WorkloadDecision::Retrack { .. } => Self::Retrack,
            WorkloadDecision::Adopt { .. } => Self::Adopt,
            WorkloadDecision::Keep { .. } => Self::Keep,
            WorkloadDecision::Replace { reason: ReplaceReason::Impostor, .. } => Self::ReplaceImpostor,
            WorkloadDecision::Replace { reason: ReplaceReason::ImmutableDrift, .. } => Self::ReplaceImmutable,
            WorkloadDecision::Wait { .. } => Self::Wait,
            WorkloadDecision::Refuse(RefusalReason::ForeignOwner) => Self::RefuseForeignOwner,
            WorkloadDecision::Refuse(RefusalReason::Incompatible) => Self::RefuseIncompatible,
            WorkloadDecision::Refuse(RefusalReason::HandedOver) => Self::RefuseHandedOver,
            WorkloadDecision::Refuse(RefusalReason::ReplaceLoop) => Self::RefuseReplaceLoop,
            WorkloadDecision::Leave => Self::Leave,
        }
    }
}

/// The metrics of all workloads.
#[derive(Clone, Debug)]
pub struct WorkloadMetrics {
    decisions: CounterBy<(DecisionLabel,)>,
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

    pub(super) fn decided(&self, decision: &WorkloadDecision) {
        self.decisions.get_or_create(&LabelSet((decision.into(),))).inc();
    }
}
