//! Carries out the plan for a VmafxNode: its workload is all that is written.

use super::plan::NodePlan;
use crate::runtime::ReconcileError;
use crate::workload::{AppliedWorkload, Workloads};

pub(super) async fn apply(workloads: &Workloads, plan: &NodePlan) -> Result<AppliedWorkload, ReconcileError> {
    workloads.apply(&plan.workload).await
}
