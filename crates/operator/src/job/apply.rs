//! Carries out one planned action and returns what was observed of the job.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use vmafx_api::VmafxJob;
use vmafx_job::CancelCause;
use vmafx_proto::controller::v1::{Job, SubmitJobResponse, UpdateJobRequest};

use super::controller_client::{CallFailure, LabelResponse, UpdateResponse};
use super::observe::{ObservedJob, get, outage};
use super::plan::JobAction;
use super::scope::JobScope;
use super::tracked::{RejectedUpdate, TrackedJob};
use super::{CachedJob, JobReconciler, label, update};
use crate::client::requests;
use crate::error::ApiError;
use crate::key::ObjectKey;

/// Makes at most one call. What it changes is recorded in `tracked`; after a cancellation or a label the job is not
/// asked for here, so the next plan does that.
pub(super) async fn apply(
    reconciler: &JobReconciler,
    scope: &JobScope,
    key: &ObjectKey,
    job: &VmafxJob,
    action: JobAction,
    observed: ObservedJob,
    tracked: &mut TrackedJob,
) -> ObservedJob {
    match action {
        JobAction::Wait => observed,
        JobAction::Get { id } => get(scope, &id).await,
        JobAction::Find => {
            let found = scope.controller.find(&tracked.uid).await;
            tracked.may_be_submitted &= matches!(found, ObservedJob::Unreachable(_));
            if let ObservedJob::Present(live) = &found {
                tracked.id = Some(live.id.clone());
            }
            found
        }
        JobAction::Submit { idempotency_key, forgotten } => {
            match scope.controller.submit(job, idempotency_key).await {
                Ok(SubmitJobResponse { job_id, deduplicated }) => {
                    reconciler.metrics.submitted.inc();
                    tracked.submitted(job_id.clone(), forgotten);
                    // Tracked at once: should the resource be deleted now, its job has to be cancelled.
                    reconciler.tracked.put(key, tracked.clone());
                    // A deduplicated job was made by an earlier call, so it may have any status by now.
                    if deduplicated { ObservedJob::NotAsked } else { submitted(scope, job_id) }
                }
                Err(observed) => {
                    if let ObservedJob::Refused(explanation) = &observed {
                        tracked.refuse(job, explanation.clone(), Instant::now());
                    }
                    // The key belongs to a job of this resource that was submitted before the resource changed.
                    if let ObservedJob::Present(live) = &observed {
                        tracked.submitted(live.id.clone(), forgotten);
                        reconciler.tracked.put(key, tracked.clone());
                    }
                    observed
                }
            }
        }
        JobAction::Cancel { id, cause } => match scope.controller.cancel(&id, cause).await {
            Ok(()) => ObservedJob::NotAsked,
            Err(failure) => not_changed(job, failure, observed, tracked),
        },
        JobAction::Update(request) => update(reconciler, scope, job, *request, observed, tracked).await,
        JobAction::Label { id, value } => match scope.controller.label(&id, value).await {
            Ok(LabelResponse::Accepted) => ObservedJob::NotAsked,
            Ok(LabelResponse::Rejected(message)) => {
                tracked.rejected_label = Some(value);
                reconciler.recorder.publish(job, &label::rejection_event(value, &message)).await;
                ObservedJob::NotAsked
            }
            Err(failure) => not_changed(job, failure, observed, tracked),
        },
        JobAction::Explain { id } => {
            let explanation = scope.controller.explain(&id, Timestamp::now()).await;
            tracked.explained = Some((Instant::now(), explanation));
            observed
        }
    }
}

/// Changes the controller's job. A rejected change is published once and leaves the job as it is.
async fn update(
    reconciler: &JobReconciler,
    scope: &JobScope,
    job: &VmafxJob,
    request: UpdateJobRequest,
    observed: ObservedJob,
    tracked: &mut TrackedJob,
) -> ObservedJob {
    match scope.controller.update(request.clone()).await {
        Ok(UpdateResponse::Job(live)) => {
            tracked.rejected_update = None;
            scope.cache.put(Arc::clone(&live));
            ObservedJob::Present(live)
        }
        Ok(UpdateResponse::Missing) => ObservedJob::Missing,
        Ok(UpdateResponse::Rejected(message)) => {
            let known = tracked.rejected_update.as_ref().is_some_and(|known| known.request == request);
            if !known {
                reconciler.recorder.publish(job, &update::rejection_event(&message)).await;
            }
            tracked.rejected_update = Some(RejectedUpdate { request, message, at: Instant::now() });
            observed
        }
        Err(failure) => not_changed(job, failure, observed, tracked),
    }
}

/// A change that was refused for now leaves the job as it was observed.
fn not_changed(
    job: &VmafxJob,
    failure: CallFailure,
    observed: ObservedJob,
    tracked: &mut TrackedJob,
) -> ObservedJob {
    match failure {
        CallFailure::Outage(outage) => ObservedJob::Unreachable(outage),
        CallFailure::Refused(explanation) => {
            tracked.refuse_change(job, explanation, Instant::now());
            observed
        }
    }
}

/// A job that was just submitted is pending, unless the stream has already delivered more about it.
fn submitted(scope: &JobScope, id: String) -> ObservedJob {
    let live = scope.cache.get(&id);
    ObservedJob::Present(live.unwrap_or_else(|| Arc::new(Job { id, ..Job::default() })))
}

/// Cancels the jobs of deleted resources that had the same name.
pub(super) async fn cancel_predecessors(
    reconciler: &JobReconciler,
    key: &ObjectKey,
    uid: Option<&str>,
) -> Result<(), CallFailure> {
    for predecessor in reconciler.tracked.predecessors(key, uid) {
        let scope = &reconciler.scopes.open(&key.namespace);
        if let Some(outage) = outage(scope) {
            return Err(outage.into());
        }
        let id = match &predecessor.id {
            Some(id) => Some(id.clone()),
            None => match scope.controller.find(&predecessor.uid).await {
                ObservedJob::Present(live) => Some(live.id.clone()),
                ObservedJob::Unreachable(outage) => return Err(outage.into()),
                ObservedJob::NotAsked
                | ObservedJob::Rejected(_)
                | ObservedJob::Refused(_)
                | ObservedJob::Missing => None,
            },
        };
        if let Some(id) = id {
            scope.controller.cancel(&id, CancelCause::ResourceGone).await?;
            scope.cache.remove(&id);
        }
        reconciler.tracked.remove(key, &predecessor.uid);
    }
    Ok(())
}

pub(super) async fn delete_finished(reconciler: &JobReconciler, cached: &CachedJob) -> Result<(), ApiError> {
    requests::delete::<VmafxJob>(&reconciler.client, "delete the finished VmafxJob", &cached.identity).await
}
