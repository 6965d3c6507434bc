//! A store that counts calls, and delays or fails them on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::{Semaphore, broadcast};
use vmafx_job::{CancelCause, TenantLimits};
use vmafx_queue::job::{Attempt, JobUpdate, Label, Labeller};
use vmafx_queue::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, Report};
use vmafx_queue::notification::Notification;
use vmafx_queue::store::{
    Cancelled, Changes, Claim, Cursor, Explained, Filter, LabelTarget, Labelled, Page, Pruned, Released,
    Reported, Retention, Samples, Submitted, Swept, TenantStats, Updated,
};
use vmafx_queue::{AttemptNumber, Job, JobId, NewJob, PullId, Store, StoreError, StoreResult, TenantId};

pub(crate) struct CountingStore {
    inner: Arc<dyn Store>,
    /// Claims that were started.
    pub(crate) claims: AtomicUsize,
    /// Sweeps that were completed.
    pub(crate) sweeps: AtomicUsize,
    /// Pages of jobs and of changes that were read.
    pub(crate) pages: AtomicUsize,
    /// Whether `stats` fails.
    pub(crate) broken: AtomicBool,
    /// While `held` is set, a completed claim needs one of these permits to return.
    pub(crate) permits: Semaphore,
    pub(crate) held: AtomicBool,
    /// Claims that were completed, returned or not.
    pub(crate) claimed: AtomicUsize,
}

impl CountingStore {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            claims: AtomicUsize::new(0),
            sweeps: AtomicUsize::new(0),
            pages: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            permits: Semaphore::new(0),
            held: AtomicBool::new(false),
            claimed: AtomicUsize::new(0),
        }
    }

    pub(crate) fn claims(&self) -> usize {
        self.claims.load(Ordering::SeqCst)
    }

    pub(crate) fn sweeps(&self) -> usize {
        self.sweeps.load(Ordering::SeqCst)
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Store for CountingStore {
    async fn submit(&self, tenant: &TenantId, job: NewJob, limits: &TenantLimits) -> StoreResult<Submitted> {
        self.inner.submit(tenant, job, limits).await
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Job>> {
        self.inner.job(tenant, id).await
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>> {
        self.inner.attempts(tenant, id).await
    }

    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> StoreResult<Vec<Job>> {
        self.pages.fetch_add(1, Ordering::SeqCst);
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
        self.inner.update(tenant, id, update, limits).await
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
        node: NewNode,
        limits: &TenantLimits,
    ) -> StoreResult<Credentials> {
        self.inner.register(tenant, node, limits).await
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
        beat: Heartbeat,
    ) -> StoreResult<Option<HeartbeatReply>> {
        self.inner.heartbeat(tenant, node, beat).await
    }

    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> StoreResult<Claim> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        let claim = self.inner.claim(tenant, node, backends, pull, limits).await;
        self.claimed.fetch_add(1, Ordering::SeqCst);
        if self.held.load(Ordering::SeqCst) {
            self.permits.acquire().await.unwrap().forget();
        }
        claim
    }

    async fn report(&self, tenant: &TenantId, node: &Credentials, report: Report) -> StoreResult<Reported> {
        self.inner.report(tenant, node, report).await
    }

    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> StoreResult<Released> {
        self.inner.release(tenant, node, job, attempt, reason).await
    }

    async fn release_pulls(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        pulls: &[PullId],
    ) -> StoreResult<u64> {
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

    async fn position(&self, tenant: &TenantId) -> StoreResult<Cursor> {
        self.inner.position(tenant).await
    }

    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        self.inner.changes(tenant, after, limit).await
    }

    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        self.inner.samples(tenant, after, limit).await
    }

    async fn sweep(&self) -> StoreResult<Swept> {
        let swept = self.inner.sweep().await;
        self.sweeps.fetch_add(1, Ordering::SeqCst);
        swept
    }

    async fn prune(&self, keep: &Retention) -> StoreResult<Pruned> {
        self.inner.prune(keep).await
    }

    async fn stats(&self) -> StoreResult<Vec<TenantStats>> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the test breaks the store".into()));
        }
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
