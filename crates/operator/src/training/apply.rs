//! Carries out the plan for a VmafxModelTraining: its workload, then the event about a new checkpoint.

use vmafx_api::VmafxModelTraining;

use super::TrainingReconciler;
use super::plan::TrainingPlan;
use crate::error::ApiError;
use crate::runtime::ReconcileError;
use crate::workload::AppliedWorkload;

#[derive(Debug)]
pub struct AppliedTraining {
    pub workload: Result<AppliedWorkload, ReconcileError>,
    /// Whether the status may record the checkpoint: an error means that its event could not be published yet.
    pub checkpoint: Result<(), ApiError>,
}

impl AppliedTraining {
    pub fn result(self) -> Result<(), ReconcileError> {
        self.workload?;
        Ok(self.checkpoint?)
    }
}

pub(super) async fn apply(
    reconciler: &TrainingReconciler,
    training: &VmafxModelTraining,
    plan: &TrainingPlan,
) -> AppliedTraining {
    let workload = reconciler.workloads.apply(&plan.workload).await;
    let checkpoint = match &plan.checkpoint {
        // After a conflict everything is observed and planned again.
        Some(checkpoint) if !workload.as_ref().is_err_and(ReconcileError::is_conflict) => {
            reconciler.recorder.publish_once(training, &checkpoint.event, checkpoint.id).await
        }
        _ => Ok(()),
    };
    AppliedTraining { workload, checkpoint }
}
