//! Sends the ground truth of a job that has ended: once for each change of the resource, because its generation is
//! recorded in the status whatever the controller answers.

use vmafx_api::VmafxJob;

use super::controller_client::{CallFailure, LabelResponse};
use super::label::{self, LateLabelPlan};
use super::observe::{ObservedJob, outage};
use super::scope::JobScope;
use super::{CachedJob, JobReconciler};
use crate::runtime::ReconcileError;

pub(super) async fn reconcile(reconciler: &JobReconciler, job: &VmafxJob) -> Result<(), ReconcileError> {
    let response = match label::plan_late(job) {
        LateLabelPlan::Send { id, value } => {
            let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
            send(&reconciler.scopes.open(namespace), id, value).await?
        }
        LateLabelPlan::Reject(message) => LabelResponse::Rejected(message.to_owned()),
    };
    let after = label::status_after(job, &response);
    let Some(written) = crate::status::apply(&reconciler.client, job, &after).await? else { return Ok(()) };
    reconciler.jobs.put(CachedJob::from(written));
    if let (LabelResponse::Rejected(message), Some(value)) = (&response, job.spec.ground_truth) {
        reconciler.recorder.publish(job, &label::rejection_event(value, message)).await;
    }
    Ok(())
}

async fn send(scope: &JobScope, id: &str, value: f64) -> Result<LabelResponse, CallFailure> {
    if let Some(outage) = outage(scope) {
        return Err(outage.into());
    }
    match scope.controller.get(id).await {
        // It was sent before and the status write failed: sending it again would make a second sample.
        ObservedJob::Present(live) if label::of(&live) == Some(value) => Ok(LabelResponse::Accepted),
        ObservedJob::Present(_) => scope.controller.label(id, value).await,
        ObservedJob::Unreachable(outage) => Err(outage.into()),
        ObservedJob::NotAsked | ObservedJob::Rejected(_) | ObservedJob::Refused(_) | ObservedJob::Missing => {
            Ok(LabelResponse::Rejected(label::FORGOTTEN.to_owned()))
        }
    }
}
