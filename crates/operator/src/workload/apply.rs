//! Carries out the plan for a workload.

use std::sync::Arc;

use tokio::time::Instant;

use super::child::ChildPlan;
use super::decide::WorkloadDecision;
use super::objects::{AppliedObjects, ObjectWrite};
use super::observe::Workloads;
use super::plan::{SyncPlan, WorkloadAction, WorkloadPlan};
use super::snapshot::{ChildSnapshot, StatefulSetSnapshot};
use crate::client::requests::Namespaced;
use crate::error::ApiError;
use crate::key::ObjectKey;
use crate::runtime::ReconcileError;

/// What a plan that was carried out has led to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppliedWorkload {
    /// The StatefulSet as it is now; `None` if there is none, or the operator does not run it.
    pub stateful_set: Option<Arc<StatefulSetSnapshot>>,
}

impl Workloads {
    pub async fn apply(&self, plan: &WorkloadPlan) -> Result<AppliedWorkload, ReconcileError> {
        match &plan.action {
            WorkloadAction::External => Ok(AppliedWorkload::default()),
            WorkloadAction::Blocked { reason, retry, message } => {
                Err(ReconcileError { reason: *reason, retry: *retry, source: message.clone().into() })
            }
            WorkloadAction::Sync(steps) => {
                let applied = AppliedWorkload { stateful_set: self.sync(plan, steps).await? };
                self.metrics.decided(&steps.stateful_set.decision);
                if let Some(event) = plan.status(Ok(&applied)).event {
                    tracing::info!(
                        owner = %plan.resource.owner.key, reason = event.reason.as_str(), "{}", event.note
                    );
                }
                Ok(applied)
            }
        }
    }

    /// Drops what is remembered of the objects of a resource that is gone.
    pub fn forget(&self, stateful_set: &ObjectKey, service: &ObjectKey) {
        self.stateful_sets.forget(stateful_set);
        self.services.forget(service);
        self.budgets.forget(stateful_set);
    }

    async fn sync(
        &self,
        plan: &WorkloadPlan,
        steps: &SyncPlan,
    ) -> Result<Option<Arc<StatefulSetSnapshot>>, ApiError> {
        if let Some(account) = &steps.account {
            self.accounts.ensure(account).await?;
        }
        write_child(&self.services, steps.service.as_ref()).await?;
        write_child(&self.budgets, steps.budget.as_ref()).await?;
        let set = &steps.stateful_set;
        let Some(write) = &set.write else {
            // After a deletion of the resource nothing of its StatefulSet counts any more.
            return Ok(plan.observed.clone().filter(|_| set.decision != WorkloadDecision::Leave));
        };
        let action = match (&set.decision, write) {
            (WorkloadDecision::Recreate { .. }, _) => "recreate the StatefulSet",
            (_, ObjectWrite::Create(_)) => "create the StatefulSet",
            (_, ObjectWrite::Apply(..)) => "apply the StatefulSet",
            (_, ObjectWrite::Delete(_)) => "replace the StatefulSet",
        };
        let now = self.stateful_sets.write(action, &set.key, write).await?;
        if now.is_none() {
            self.replacements.record(&plan.resource.owner.uid, Instant::now());
        }
        Ok(now)
    }
}

async fn write_child<K: Namespaced>(
    objects: &AppliedObjects<K, ChildSnapshot>,
    plan: Option<&ChildPlan>,
) -> Result<(), ApiError> {
    if let Some(plan) = plan
        && let Some(write) = &plan.write
    {
        objects.write("apply an object of the workload", &plan.key, write).await?;
    }
    Ok(())
}
