//! A store that breaks one rule, to check that the tests fail on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::broadcast;
use tokio::task::yield_now;
use vmafx_job::{CancelCause, TenantLimits};
use vmafx_queue::job::{Attempt, JobUpdate, Label, Labeller};
use vmafx_queue::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, Report};
use vmafx_queue::notification::Notification;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{
    Cancelled, Changes, Claim, Explained, Filter, LabelTarget, Labelled, Page, Pruned, Released, Reported,
    Retention, Samples, Submitted, Swept, TenantStats, Updated,
};
use vmafx_queue::{
    AttemptNumber, IdempotencyKey, Job, JobId, NewJob, PullId, Store, StoreError, StoreResult, TenantId,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Every report is accepted as if its session held the job.
    Fencing,
    /// A report on an older attempt is accepted as if it were on the running one.
    Attempts,
    /// All jobs have the same priority.
    ClaimOrder,
    /// The tolerated gap between sweeps is as long as a lease.
    SweepGap,
    /// Idempotency keys are ignored.
    Idempotency,
    /// A key finds its job whatever the request is.
    KeyDigest,
    /// All submitters share their keys.
    KeyOwner,
    /// A back-off may become as long as the clock was set back.
    BackoffLimit,
    /// A job may lose one attempt more than allowed.
    LostLimit,
    /// Every reported failure is final, whoever is at fault.
    Retries,
    /// A job may return at once to the node that failed it.
    Avoidance,
    /// No node is quarantined.
    Quarantine,
    /// A released job is cancelled instead of being pending again.
    Release,
    /// A heartbeat extends no lease.
    Leases,
    /// A job whose assignment was lost keeps its lease.
    LostPulls,
    /// A change of a running job takes effect while it runs.
    Updates,
    /// No tenant has limits.
    Limits,
    /// A node may hold more jobs than it has slots.
    Slots,
    /// Submissions and claims read first and write later, so that concurrent calls interfere.
    Atomicity,
}

impl Broken {
    /// The policy that the underlying store runs with.
    pub(crate) fn policy(self, policy: Policy) -> Policy {
        match self {
            Self::SweepGap => Policy { sweep_interval: Duration::from_hours(1), ..policy },
            Self::Avoidance => Policy { avoid_window: Duration::ZERO, ..policy },
            Self::Quarantine => Policy { quarantine_after: u32::MAX, ..policy },
            Self::BackoffLimit => Policy { backoff_max: Duration::from_hours(24), ..policy },
            Self::LostLimit => Policy { max_lost_attempts: policy.max_lost_attempts + 1, ..policy },
            _ => policy,
        }
    }
}

/// Forwards every call and breaks one rule.
pub(crate) struct Sabotage {
    inner: Arc<dyn Store>,
    broken: Broken,
    /// The node that claimed each job last.
    holders: Mutex<HashMap<JobId, Credentials>>,
    keys: Mutex<HashMap<IdempotencyKey, JobId>>,
    claiming: AtomicUsize,
    claimed: Mutex<Option<Job>>,
}

impl Sabotage {
    pub(crate) fn new(inner: Arc<dyn Store>, broken: Broken) -> Self {
        Self {
            inner,
            broken,
            holders: Mutex::default(),
            keys: Mutex::default(),
            claiming: AtomicUsize::default(),
            claimed: Mutex::default(),
        }
    }

    fn limits(&self, limits: &TenantLimits) -> TenantLimits {
        let unlimited = TenantLimits {
            pending_jobs: u64::MAX,
            running_jobs: u64::MAX,
            stored_bytes: u64::MAX,
            nodes: u64::MAX,
            ..*limits
        };
        if self.broken == Broken::Limits { unlimited } else { *limits }
    }

    async fn submit_in_two_steps(
        &self,
        tenant: &TenantId,
        mut job: NewJob,
        limits: &TenantLimits,
    ) -> StoreResult<Submitted> {
        let key = job.key.take();
        let known = key.as_ref().and_then(|key| self.keys.lock().unwrap().get(key).copied());
        if let Some(id) = known {
            return Ok(Submitted { id, deduplicated: true });
        }
        yield_now().await;
        let submitted = self.inner.submit(tenant, job, &self.limits(limits)).await?;
        self.keys.lock().unwrap().extend(key.map(|key| (key, submitted.id)));
        Ok(submitted)
    }

    async fn claim_in_two_steps(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> StoreResult<Claim> {
        let meanwhile = self.claiming.fetch_add(1, Ordering::SeqCst) > 0;
        yield_now().await;
        let last = self.claimed.lock().unwrap().clone().filter(|_| meanwhile);
        let claim = match last {
            Some(job) => Claim::Job(Box::new(job)),
            None => self.inner.claim(tenant, node, backends, pull, &self.limits(limits)).await?,
        };
        self.claiming.fetch_sub(1, Ordering::SeqCst);
        if let Claim::Job(job) = &claim {
            *self.claimed.lock().unwrap() = Some((**job).clone());
        }
        Ok(claim)
    }
}

#[async_trait]
impl Store for Sabotage {
    async fn submit(
        &self,
        tenant: &TenantId,
        mut job: NewJob,
        limits: &TenantLimits,
    ) -> StoreResult<Submitted> {
        match self.broken {
            Broken::Atomicity => return self.submit_in_two_steps(tenant, job, limits).await,
            Broken::ClaimOrder => job.priority = 0,
            Broken::Idempotency => job.key = None,
            Broken::KeyOwner => job.submitter.clear(),
            Broken::LostLimit => job.max_lost_attempts = job.max_lost_attempts.map(|limit| limit + 1),
            _ => {}
        }
        match self.inner.submit(tenant, job, &self.limits(limits)).await {
            Err(StoreError::KeyReused { job }) if self.broken == Broken::KeyDigest => {
                Ok(Submitted { id: job, deduplicated: true })
            }
            other => other,
        }
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Job>> {
        self.inner.job(tenant, id).await
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>> {
        self.inner.attempts(tenant, id).await
    }

    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> StoreResult<Vec<Job>> {
        self.inner.jobs(tenant, filter, page).await
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        cause: CancelCause,
        reason: &str,
    ) -> StoreResult<Option<Cancelled>> {
        self.inner.cancel(tenant, id, cause, reason).await
    }

    async fn update(
        &self,
        tenant: &TenantId,
        id: JobId,
        update: JobUpdate,
        limits: &TenantLimits,
    ) -> StoreResult<Option<Updated>> {
        let updated = self.inner.update(tenant, id, update, &self.limits(limits)).await?;
        Ok(updated.map(|mut updated| {
            if self.broken == Broken::Updates
                && let Some(next) = updated.job.next_scoring.take()
            {
                updated.job.scoring = next;
            }
            updated
        }))
    }

    async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
        by: &Labeller,
    ) -> StoreResult<Labelled> {
        self.inner.label(tenant, target, label, by).await
    }

    async fn register(
        &self,
        tenant: &TenantId,
        mut node: NewNode,
        limits: &TenantLimits,
    ) -> StoreResult<Credentials> {
        if self.broken == Broken::Slots {
            node.capability.slots = u32::MAX;
        }
        self.inner.register(tenant, node, &self.limits(limits)).await
    }

    async fn register_as(
        &self,
        tenant: &TenantId,
        node: NewNode,
        credentials: &Credentials,
    ) -> StoreResult<()> {
        self.inner.register_as(tenant, node, credentials).await
    }

    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        mut heartbeat: Heartbeat,
    ) -> StoreResult<Option<HeartbeatReply>> {
        if self.broken == Broken::Leases {
            heartbeat.running.clear();
        }
        self.inner.heartbeat(tenant, node, heartbeat).await
    }

    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> StoreResult<Claim> {
        if self.broken == Broken::Atomicity {
            return self.claim_in_two_steps(tenant, node, backends, pull, limits).await;
        }
        let claim = self.inner.claim(tenant, node, backends, pull, &self.limits(limits)).await?;
        if let Claim::Job(job) = &claim {
            self.holders.lock().unwrap().insert(job.id, node.clone());
        }
        Ok(claim)
    }

    async fn report(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        mut report: Report,
    ) -> StoreResult<Reported> {
        match self.broken {
            Broken::Fencing => {
                report.attempt = None;
                let holder = self.holders.lock().unwrap().get(&report.job).cloned();
                self.inner.report(tenant, holder.as_ref().unwrap_or(node), report).await
            }
            Broken::Retries => {
                if let Err((reason, _)) = &mut report.result {
                    *reason = vmafx_job::FailureReason::OptionsInvalid;
                }
                self.inner.report(tenant, node, report).await
            }
            Broken::Attempts => {
                report.attempt = None;
                self.inner.report(tenant, node, report).await
            }
            _ => self.inner.report(tenant, node, report).await,
        }
    }

    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> StoreResult<Released> {
        let released = self.inner.release(tenant, node, job, attempt, reason).await?;
        if self.broken == Broken::Release && released == Released::Moved {
            self.inner.cancel(tenant, job, CancelCause::Requested, reason).await?;
        }
        Ok(released)
    }

    async fn release_pulls(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        pulls: &[PullId],
    ) -> StoreResult<u64> {
        if self.broken == Broken::LostPulls {
            return Ok(0);
        }
        self.inner.release_pulls(tenant, node, pulls).await
    }

    async fn explain(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Explained>> {
        self.inner.explain(tenant, id).await
    }

    async fn nodes(&self, tenant: &TenantId) -> StoreResult<Vec<Node>> {
        self.inner.nodes(tenant).await
    }

    async fn nodes_with_resource(&self) -> StoreResult<Vec<Node>> {
        self.inner.nodes_with_resource().await
    }

    async fn position(&self, tenant: &TenantId) -> StoreResult<String> {
        self.inner.position(tenant).await
    }

    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        self.inner.changes(tenant, after, limit).await
    }

    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        self.inner.samples(tenant, after, limit).await
    }

    async fn sweep(&self) -> StoreResult<Swept> {
        self.inner.sweep().await
    }

    async fn prune(&self, keep: &Retention) -> StoreResult<Pruned> {
        self.inner.prune(keep).await
    }

    async fn stats(&self) -> StoreResult<Vec<TenantStats>> {
        self.inner.stats().await
    }

    async fn ready(&self) -> StoreResult<()> {
        self.inner.ready().await
    }

    fn is_full(&self) -> bool {
        self.inner.is_full()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.inner.free_bytes()
    }

    fn notifications(&self) -> broadcast::Receiver<Notification> {
        self.inner.notifications()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
