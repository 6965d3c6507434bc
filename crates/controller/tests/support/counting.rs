//! A store that counts how it is used, and fails when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::{Semaphore, broadcast};
use vmafx_job::CancelCause;
use vmafx_queue::job::{Attempt, Label};
use vmafx_queue::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, Report};
use vmafx_queue::notification::Notification;
use vmafx_queue::store::{
    Cancelled, Changes, Claim, Cursor, Explained, Filter, LabelTarget, Labelled, Page, Pruned, Released,
    Reported, Retention, Samples, Submitted, Swept, TenantStats,
};
use vmafx_queue::{AttemptNumber, Job, JobId, NewJob, Store, StoreError, TenantId};

/// Counts claims, sweeps and pages.
pub(crate) struct CountingStore {
    inner: Arc<dyn Store>,
    /// Claims begun.
    pub(crate) claims: AtomicUsize,
    /// Sweeps that ended.
    pub(crate) sweeps: AtomicUsize,
    /// Pages of jobs and of changes that were read.
    pub(crate) pages: AtomicUsize,
    /// Whether statistics fail.
    pub(crate) broken: AtomicBool,
    /// A claim that has happened is answered when there is a permit.
    pub(crate) answers: Semaphore,
    /// Whether claims wait for one.
    pub(crate) held: AtomicBool,
    /// Claims that have happened.
    pub(crate) claimed: AtomicUsize,
}

impl CountingStore {
    /// Around another.
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            claims: AtomicUsize::new(0),
            sweeps: AtomicUsize::new(0),
            pages: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            answers: Semaphore::new(0),
            held: AtomicBool::new(false),
            claimed: AtomicUsize::new(0),
        }
    }

    /// Claims so far.
    pub(crate) fn claims(&self) -> usize {
        self.claims.load(Ordering::SeqCst)
    }

    /// Sweeps so far.
    pub(crate) fn sweeps(&self) -> usize {
        self.sweeps.load(Ordering::SeqCst)
    }

    /// Pages so far.
    pub(crate) fn pages(&self) -> usize {
        self.pages.load(Ordering::SeqCst)
    }
}

type Answer<T> = Result<T, StoreError>;

#[async_trait]
impl Store for CountingStore {
    async fn submit(&self, tenant: &TenantId, job: NewJob) -> Answer<Submitted> {
        self.inner.submit(tenant, job).await
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> Answer<Option<Job>> {
        self.inner.job(tenant, id).await
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId) -> Answer<Vec<Attempt>> {
        self.inner.attempts(tenant, id).await
    }

    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> Answer<Vec<Job>> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        self.inner.jobs(tenant, filter, page).await
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        cause: CancelCause,
        reason: &str,
    ) -> Answer<Option<Cancelled>> {
        self.inner.cancel(tenant, id, cause, reason).await
    }

    async fn label(&self, tenant: &TenantId, target: &LabelTarget, label: Label) -> Answer<Labelled> {
        self.inner.label(tenant, target, label).await
    }

    async fn register(&self, tenant: &TenantId, node: NewNode) -> Answer<Credentials> {
        self.inner.register(tenant, node).await
    }

    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        beat: Heartbeat,
    ) -> Answer<Option<HeartbeatReply>> {
        self.inner.heartbeat(tenant, node, beat).await
    }

    async fn claim(&self, tenant: &TenantId, node: &Credentials, backends: &[String]) -> Answer<Claim> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        let claim = self.inner.claim(tenant, node, backends).await;
        self.claimed.fetch_add(1, Ordering::SeqCst);
        if self.held.load(Ordering::SeqCst) {
            self.answers.acquire().await.unwrap().forget();
        }
        claim
    }

    async fn report(&self, tenant: &TenantId, node: &Credentials, report: Report) -> Answer<Reported> {
        self.inner.report(tenant, node, report).await
    }

    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> Answer<Released> {
        self.inner.release(tenant, node, job, attempt, reason).await
    }

    async fn explain(&self, tenant: &TenantId, id: JobId) -> Answer<Option<Explained>> {
        self.inner.explain(tenant, id).await
    }

    async fn nodes(&self, tenant: &TenantId) -> Answer<Vec<Node>> {
        self.inner.nodes(tenant).await
    }

    async fn nodes_with_resource(&self) -> Answer<Vec<Node>> {
        self.inner.nodes_with_resource().await
    }

    async fn position(&self, tenant: &TenantId) -> Answer<Cursor> {
        self.inner.position(tenant).await
    }

    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> Answer<Changes> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        self.inner.changes(tenant, after, limit).await
    }

    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> Answer<Samples> {
        self.inner.samples(tenant, after, limit).await
    }

    async fn sweep(&self) -> Answer<Swept> {
        let swept = self.inner.sweep().await;
        self.sweeps.fetch_add(1, Ordering::SeqCst);
        swept
    }

    async fn prune(&self, keep: &Retention) -> Answer<Pruned> {
        self.inner.prune(keep).await
    }

    async fn stats(&self) -> Answer<Vec<TenantStats>> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("told to fail".into()));
        }
        self.inner.stats().await
    }

    async fn ready(&self) -> Answer<()> {
        self.inner.ready().await
    }

    fn notifications(&self) -> broadcast::Receiver<Notification> {
        self.inner.notifications()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
