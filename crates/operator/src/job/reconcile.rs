//! One pass over a VmafxJob: rounds of plan and apply, then the status.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::time::Instant;
use vmafx_api::VmafxJob;
use vmafx_api::job::Execution;

use super::apply::{apply, cancel_predecessors, delete_finished};
use super::controller_client::CallFailure;
use super::in_pod::PodJobs;
use super::metrics::JobMetrics;
use super::observe::{Explanation, ObservedJob, observe};
use super::plan::{JobAction, PlanReason, plan};
use super::scope::{JobScope, JobScopes};
use super::status::{self, StatusContext, is_over};
use super::timing::{self, RESYNC_INTERVAL, StatusWrite};
use super::tracked::{TrackedJob, TrackedJobs};
use super::{CachedJob, CachedJobState, late_label};
use crate::error::Retry;
use crate::events::EventRecorder;
use crate::key::ObjectKey;
use crate::runtime::{Cache, Cached, Reconcile, ReconcileError, RequeueAfter, WatchedKind};

/// The longest useful pass reads, cancels, reads, submits, reads, updates, labels, reads and asks why the job is pending.
const MAX_ROUNDS: usize = 12;

pub struct JobReconciler {
    pub client: Client,
    pub jobs: Cache<CachedJob>,
    pub pods: PodJobs,
    pub scopes: JobScopes,
    pub tracked: TrackedJobs,
    /// When this operator began to lead.
    pub started: Timestamp,
    pub recorder: EventRecorder,
    pub metrics: JobMetrics,
}

impl Reconcile for JobReconciler {
    const KIND: WatchedKind = WatchedKind::Job;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<RequeueAfter>, ReconcileError> {
        let cached = self.jobs.get(key);
        let cached = cached.as_deref().filter(|cached| !is_being_deleted(cached));
        cancel_predecessors(self, key, cached.map(Cached::uid)).await?;
        let Some(cached) = cached else { return Ok(None) };
        match &cached.state {
            CachedJobState::Finished { delete_at, unlabelled } => {
                self.tracked.remove(key, cached.uid());
                match unlabelled {
                    // The write of the status leads to another pass.
                    Some(job) => late_label::reconcile(self, job).await.map(|()| None),
                    None => self.reconcile_finished(cached, *delete_at).await,
                }
            }
            CachedJobState::Open(job) if job.spec.execution == Execution::Pod => {
                self.reconcile_in_pod(job).await.map(Some)
            }
            CachedJobState::Open(job) => self.reconcile_queued(key, job).await.map(Some),
        }
    }
}

impl JobReconciler {
    async fn reconcile_queued(
        &self,
        key: &ObjectKey,
        job: &VmafxJob,
    ) -> Result<RequeueAfter, ReconcileError> {
        let scope = self.scopes.open(&key.namespace);
        let mut tracked = self.tracked.get(key, job, self.started);
        // Tracked before the submission: should the resource be deleted meanwhile, its job is searched for.
        self.tracked.put(key, tracked.clone());
        let poll_interval = timing::poll_interval(self.tracked.len());
        let observed = self.run_rounds(&scope, key, job, &mut tracked, poll_interval).await;
        let now = Instant::now();
        tracked.update(&observed, now);
        let after = status::status(job, &observed, StatusContext::of(&tracked), Timestamp::now());
        let write = timing::status_write(job, &observed, &after, &tracked, now);
        let mut requeue_after = timing::requeue_after(&observed, scope.cache.is_live(), poll_interval);
        if let ObservedJob::Refused(_) = &observed {
            let retry_at = tracked.refused.as_ref().map(|refused| refused.retry_at);
            requeue_after = timing::refusal_recheck(job, retry_at, now, Timestamp::now());
        }
        if let Some(refused) = &tracked.refused_change {
            requeue_after = requeue_after.min(timing::change_recheck(refused, now));
        }
        match write {
            StatusWrite::Unchanged => tracked.behind_since = None,
            StatusWrite::Deferred(left) => {
                tracked.behind_since.get_or_insert(now);
                requeue_after = requeue_after.min(left);
            }
            StatusWrite::Due => {
                tracked.behind_since.get_or_insert(now);
                self.tracked.put(key, tracked.clone());
                let cause =
                    status::StatusCause { observed: &observed, forgotten: tracked.forgotten.as_deref() };
                status::write(self, job, &after, Some(cause)).await?;
                (tracked.behind_since, tracked.forgotten) = (None, None);
            }
        }
        if tracked.behind_since.is_none() && is_over(&after) {
            self.tracked.remove(key, &tracked.uid);
            tracked.id.iter().for_each(|id| scope.cache.remove(id));
        } else {
            self.tracked.put(key, tracked);
        }
        Ok(RequeueAfter(requeue_after))
    }

    /// Plans and applies until there is nothing to do; returns the last observation.
    async fn run_rounds(
        &self,
        scope: &JobScope,
        key: &ObjectKey,
        job: &VmafxJob,
        tracked: &mut TrackedJob,
        poll_interval: Duration,
    ) -> ObservedJob {
        let mut observed = observe(scope, job, tracked);
        for _ in 0..MAX_ROUNDS {
            let plan = plan(job, tracked, &observed, poll_interval, Instant::now());
            tracing::debug!(%key, ?plan, "planned the next action");
            if plan.reason == PlanReason::UpToDate {
                tracked.refused_change = None;
            }
            if plan.action == JobAction::Wait {
                break;
            }
            observed = apply(self, scope, key, job, plan.action, observed, tracked).await;
        }
        observed
    }

    async fn reconcile_in_pod(&self, job: &VmafxJob) -> Result<RequeueAfter, ReconcileError> {
        let pass = self.pods.reconcile(job, Timestamp::now()).await?;
        if job.status.clone().unwrap_or_default() != pass.status {
            status::write(self, job, &pass.status, None).await?;
        }
        Ok(RequeueAfter(pass.requeue_after.unwrap_or(RESYNC_INTERVAL)))
    }

    /// Deletes a finished resource when `spec.ttlSecondsAfterFinished` is over.
    async fn reconcile_finished(
        &self,
        cached: &CachedJob,
        delete_at: Option<Timestamp>,
    ) -> Result<Option<RequeueAfter>, ReconcileError> {
        match delete_at.map(|delete_at| timing::time_to_live(delete_at, Timestamp::now())) {
            None => Ok(None),
            Some(Duration::ZERO) => Ok(delete_finished(self, cached).await.map(|()| None)?),
            Some(left) => Ok(Some(RequeueAfter(left))),
        }
    }
}

fn is_being_deleted(cached: &CachedJob) -> bool {
    cached.open().is_some_and(|job| job.metadata.deletion_timestamp.is_some())
}

impl From<CallFailure> for ReconcileError {
    fn from(failure: CallFailure) -> Self {
        let Explanation { reason, message } = failure.into_explanation();
        Self { reason, retry: Retry::Later, source: message.into() }
    }
}
