//! Metrics of workloads.

use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, LabelSet, Metrics};

use super::decide::{ReplaceReason, WorkloadDecision, WorkloadRefusal};

closed_label! {
    pub enum DecisionLabel: "decision" {
        Create = "create",
        Recreate = "recreate",
        Retrack = "retrack",
        Adopt = "adopt",
        Keep = "keep",
        ReplaceImpostor = "replace_impostor",
        ReplaceImmutable = "replace_immutable",
        Wait = "wait",
        RefuseForeignOwner = "refuse_foreign_owner",
        RefuseIncompatible = "refuse_incompatible",
        RefuseHandedOver = "refuse_handed_over",
        RefuseReplaceLoop = "refuse_replace_loop",
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
            WorkloadDecision::Refuse(WorkloadRefusal::ForeignOwner) => Self::RefuseForeignOwner,
            WorkloadDecision::Refuse(WorkloadRefusal::Incompatible) => Self::RefuseIncompatible,
            WorkloadDecision::Refuse(WorkloadRefusal::HandedOver) => Self::RefuseHandedOver,
            WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop) => Self::RefuseReplaceLoop,
            WorkloadDecision::Leave => Self::Leave,
        }
    }
}

#[derive(Clone, Debug)]
pub struct WorkloadMetrics {
    decisions: CounterBy<(DecisionLabel,)>,
}

impl WorkloadMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            decisions: metrics.counter_by(
                "operator_workload_decisions",
                "Decisions about StatefulSets, one per pass; anything but keep and leave is rare",
            ),
        }
    }

    pub(super) fn decided(&self, decision: &WorkloadDecision) {
        self.decisions.get_or_create(&LabelSet((decision.into(),))).inc();
    }
}
