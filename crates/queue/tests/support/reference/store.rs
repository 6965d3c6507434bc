//! The reference implementation as a store, so that the conformance suite checks it too: if they disagree, one of
//! them is wrong.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tokio::sync::broadcast;
use uuid::Uuid;
use vmafx_job::{CancelCause, TenantLimits};
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::job::{Attempt, JobUpdate, Label, Labeller};
use vmafx_queue::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, Report, SessionToken};
use vmafx_queue::notification::{Notification, Notifier};
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{
    Cancelled, Changes, Claim, Explained, Filter, LabelTarget, Labelled, Page, Pruned, Released, Reported,
    Retention, Samples, Submitted, Swept, TenantStats, Updated,
};
use vmafx_queue::{
    AttemptNumber, Job, JobId, NewJob, PullId, SessionId, Store, StoreError, StoreResult, TenantId,
};

use super::Queue;
use crate::support::clock::TestClock;

#[derive(Debug)]
pub(crate) struct ReferenceStore {
    queue: Mutex<Queue>,
    clock: TestClock,
    notifier: Notifier,
    closed: AtomicBool,
    /// Distinguishes its cursors from those of other stores.
    name: String,
}

impl ReferenceStore {
    pub(crate) fn new(policy: Policy, clock: TestClock) -> Self {
        Self::with(Queue::new(policy), clock)
    }

    fn with(mut queue: Queue, clock: TestClock) -> Self {
        queue.follow(clock.reading());
        Self {
            queue: Mutex::new(queue),
            clock,
            notifier: Notifier::default(),
            closed: AtomicBool::new(false),
            name: Uuid::new_v4().to_string(),
        }
    }

    /// The same store after a restart.
    pub(crate) fn reopened(&self) -> Self {
        let queue = self.queue.lock().unwrap().restarted();
        Self { name: self.name.clone(), ..Self::with(queue, self.clock.clone()) }
    }

    fn with_queue<T>(&self, work: impl FnOnce(&mut Queue, Timestamp) -> T) -> StoreResult<T> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        let mut queue = self.queue.lock().unwrap();
        let reading = self.clock.reading();
        queue.follow(reading);
        let answer = work(&mut queue, reading.wall);
        queue.notifications.drain(..).for_each(|notification| self.notifier.notify(notification));
        Ok(answer)
    }

    fn outward(&self, place: &str) -> String {
        format!("{}/{place}", self.name)
    }

    fn inward<'a>(&self, cursor: &'a str) -> StoreResult<&'a str> {
        let parts = cursor.split_once('/').filter(|(name, _)| *name == self.name);
        parts.map(|(_, place)| place).ok_or(StoreError::Cursor)
    }
}

#[async_trait]
impl Store for ReferenceStore {
    async fn submit(&self, tenant: &TenantId, job: NewJob, limits: &TenantLimits) -> StoreResult<Submitted> {
        self.with_queue(|queue, now| queue.submit(now, tenant, job, JobId(Uuid::now_v7()), limits))?
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Job>> {
        self.with_queue(|queue, _| queue.job(tenant, id))
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>> {
        self.with_queue(|queue, _| queue.attempts(tenant, id))
    }

    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> StoreResult<Vec<Job>> {
        self.with_queue(|queue, _| queue.jobs(tenant, filter, page))
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        cause: CancelCause,
        reason: &str,
    ) -> StoreResult<Option<Cancelled>> {
        self.with_queue(|queue, now| queue.cancel(now, tenant, id, (cause, reason)))
    }

    async fn update(
        &self,
        tenant: &TenantId,
        id: JobId,
        update: JobUpdate,
        limits: &TenantLimits,
    ) -> StoreResult<Option<Updated>> {
        self.with_queue(|queue, now| queue.update(now, tenant, id, update, limits))?
    }

    async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
        by: &Labeller,
    ) -> StoreResult<Labelled> {
        self.with_queue(|queue, now| queue.label(now, tenant, target, label, by))
    }

    async fn register(
        &self,
        tenant: &TenantId,
        node: NewNode,
        limits: &TenantLimits,
    ) -> StoreResult<Credentials> {
        let token = SessionToken(Uuid::new_v4().to_string());
        let credentials = Credentials { session: SessionId(Uuid::now_v7()), token };
        self.with_queue(|queue, now| queue.register(now, tenant, node, &credentials, limits))??;
        Ok(credentials)
    }

    async fn register_as(
        &self,
        tenant: &TenantId,
        node: NewNode,
        credentials: &Credentials,
    ) -> StoreResult<()> {
        self.with_queue(|queue, now| queue.register_as(now, tenant, node, credentials))
    }

    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        heartbeat: Heartbeat,
    ) -> StoreResult<Option<HeartbeatReply>> {
        self.with_queue(|queue, now| queue.heartbeat(now, tenant, node, &heartbeat))
    }

    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> StoreResult<Claim> {
        self.with_queue(|queue, now| queue.claim(now, tenant, node, backends, pull, limits))
    }

    async fn release_pulls(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        pulls: &[PullId],
    ) -> StoreResult<u64> {
        self.with_queue(|queue, now| queue.release_pulls(now, tenant, node, pulls))
    }

    async fn report(&self, tenant: &TenantId, node: &Credentials, report: Report) -> StoreResult<Reported> {
        self.with_queue(|queue, now| queue.report(now, tenant, node, report))
    }

    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> StoreResult<Released> {
        self.with_queue(|queue, now| queue.release(now, tenant, node, job, attempt, reason))
    }

    async fn explain(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Explained>> {
        self.with_queue(|queue, now| queue.explain(now, tenant, id))
    }

    async fn nodes(&self, tenant: &TenantId) -> StoreResult<Vec<Node>> {
        self.with_queue(|queue, _| queue.nodes(tenant))
    }

    async fn nodes_with_resource(&self) -> StoreResult<Vec<Node>> {
        self.with_queue(|queue, _| queue.nodes_with_resource())
    }

    async fn position(&self, _: &TenantId) -> StoreResult<String> {
        self.with_queue(|queue, _| self.outward(&queue.position()))
    }

    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        let after = self.inward(after)?;
        let mut changes = self.with_queue(|queue, _| queue.changes(tenant, after, limit))??;
        for (cursor, _) in &mut changes.jobs {
            *cursor = self.outward(cursor);
        }
        Ok(Changes { next: self.outward(&changes.next), ..changes })
    }

    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        let after = if after.is_empty() { "" } else { self.inward(after)? };
        let mut samples = self.with_queue(|queue, _| queue.samples(tenant, after, limit))??;
        for (cursor, _) in &mut samples.samples {
            *cursor = self.outward(cursor);
        }
        Ok(Samples { next: self.outward(&samples.next), ..samples })
    }

    async fn sweep(&self) -> StoreResult<Swept> {
        self.with_queue(Queue::sweep)
    }

    async fn prune(&self, keep: &Retention) -> StoreResult<Pruned> {
        self.with_queue(|queue, _| queue.prune(queue.now_for_ages(self.clock.reading()), keep))
    }

    async fn stats(&self) -> StoreResult<Vec<TenantStats>> {
        self.with_queue(|queue, _| queue.stats())
    }

    async fn ready(&self) -> StoreResult<()> {
        self.with_queue(|_, _| ())
    }

    fn is_full(&self) -> bool {
        false
    }

    fn free_bytes(&self) -> Option<u64> {
        None
    }

    fn notifications(&self) -> broadcast::Receiver<Notification> {
        self.notifier.subscribe()
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
