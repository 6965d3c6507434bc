//! A fresh store with shorthand methods for tests. They unwrap what must not fail, and return unchanged what a case
//! checks.

use std::sync::Arc;
use std::time::Duration;

use vmafx_job::{CancelCause, TenantLimits};
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::job::{Attempt, JobUpdate, Labeller};
use vmafx_queue::node::Heartbeat;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{
    Cancelled, Changes, Explained, Filter, LabelTarget, Labelled, Sample, Samples, Submitted, Swept, Updated,
};
use vmafx_queue::{AttemptNumber, Job, JobId, Store, TenantId};

use super::build::{JobBuilder, NodeBuilder, first, node, percent, tenant};
use super::clock::TestClock;
use super::node::TestNode;
use super::notifications::Subscriber;
use super::stores::{StoreKind, StoreSetup};

/// A store on behalf of one tenant, with its clock.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: TestClock,
    pub(crate) tenant: TenantId,
    pub(crate) limits: TenantLimits,
    setup: StoreSetup,
}

pub(crate) fn ids<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Vec<JobId> {
    jobs.into_iter().map(|job| job.id).collect()
}

impl Fixture {
    pub(crate) async fn new(kind: StoreKind) -> Self {
        Self::with(kind, Policy::default()).await
    }

    /// Runs the first sweep, whose result is not specified.
    pub(crate) async fn with(kind: StoreKind, policy: Policy) -> Self {
        let clock = TestClock::default();
        let setup = StoreSetup::new(kind, policy, clock.clone()).await;
        let fixture = Self {
            store: setup.open().await,
            clock,
            tenant: tenant("acme"),
            limits: TenantLimits::default(),
            setup,
        };
        fixture.sweep().await;
        fixture
    }

    /// Another, empty store of the same kind.
    pub(crate) async fn fresh(&self, policy: Policy) -> Self {
        Self::with(self.setup.kind, policy).await
    }

    /// The same store after a restart.
    pub(crate) async fn reopened(self) -> Self {
        self.store.close().await;
        Self { store: self.setup.open().await, ..self }
    }

    /// The same store as another tenant sees it.
    pub(crate) fn of(&self, name: &str) -> Self {
        Self { tenant: tenant(name), ..self.clone() }
    }

    /// The same store with other limits of the tenant.
    pub(crate) fn limited(&self, limits: TenantLimits) -> Self {
        Self { limits, ..self.clone() }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.setup.policy
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn subscribe(&self) -> Subscriber {
        Subscriber::new(&*self.store)
    }

    pub(crate) async fn submitted(&self, job: JobBuilder) -> Submitted {
        self.store.submit(&self.tenant, job.0, &self.limits).await.unwrap()
    }

    pub(crate) async fn submit(&self, job: JobBuilder) -> JobId {
        self.submitted(job).await.id
    }

    /// Submits the jobs one second apart.
    pub(crate) async fn submit_all<const N: usize>(&self, jobs: [JobBuilder; N]) -> [JobId; N] {
        let mut ids = Vec::new();
        for job in jobs {
            ids.push(self.submit(job).await);
            self.clock.advance(Duration::from_secs(1));
        }
        ids.try_into().unwrap()
    }

    pub(crate) async fn job(&self, id: JobId) -> Job {
        self.store.job(&self.tenant, id).await.unwrap().unwrap()
    }

    pub(crate) async fn attempts(&self, id: JobId) -> Vec<Attempt> {
        self.store.attempts(&self.tenant, id).await.unwrap()
    }

    /// How each attempt ended; `None` while it runs.
    pub(crate) async fn outcomes(&self, id: JobId) -> Vec<(AttemptNumber, Option<AttemptOutcome>)> {
        let attempts = self.attempts(id).await;
        attempts.iter().map(|it| (it.number, it.ended.map(|(_, outcome)| outcome))).collect()
    }

    pub(crate) async fn list(&self, filter: &Filter) -> Vec<Job> {
        self.store.jobs(&self.tenant, filter, &first(1000)).await.unwrap()
    }

    pub(crate) async fn cancelled(&self, id: JobId, reason: &str) -> Cancelled {
        self.store.cancel(&self.tenant, id, CancelCause::Requested, reason).await.unwrap().unwrap()
    }

    pub(crate) async fn updated(&self, id: JobId, update: JobUpdate) -> Updated {
        self.store.update(&self.tenant, id, update, &self.limits).await.unwrap().unwrap()
    }

    pub(crate) async fn label(&self, id: JobId, value: f64) -> Labelled {
        self.labelled_by("", id, value).await
    }

    pub(crate) async fn labelled_by(&self, who: &str, id: JobId, value: f64) -> Labelled {
        let (target, by) = (LabelTarget::Id(id), Labeller::new(who));
        self.store.label(&self.tenant, &target, percent(value), &by).await.unwrap()
    }

    pub(crate) async fn explained(&self, id: JobId) -> Explained {
        self.store.explain(&self.tenant, id).await.unwrap().unwrap()
    }

    pub(crate) async fn register(&self, new: NodeBuilder) -> TestNode {
        let who = self.store.register(&self.tenant, new.0.clone(), &self.limits).await.unwrap();
        TestNode { queue: self.clone(), who, backends: new.0.capability.backends }
    }

    /// A node that serves `cpu`.
    pub(crate) async fn node(&self, name: &str) -> TestNode {
        self.register(node(name)).await
    }

    pub(crate) async fn sweep(&self) -> Swept {
        self.store.sweep().await.unwrap()
    }

    /// Advances the clock with regular sweeps, between which the given nodes send heartbeats that name no job.
    pub(crate) async fn pass(&self, length: Duration, alive: &[&TestNode]) -> Swept {
        let mut all = Swept::default();
        let mut left = length;
        while !left.is_zero() {
            let step = left.min(self.policy().sweep_interval * 2);
            self.clock.advance(step);
            left -= step;
            for node in alive {
                assert!(
                    node.heartbeat_with(Heartbeat::default()).await.is_some(),
                    "a session that is kept alive"
                );
            }
            let swept = self.sweep().await;
            assert!(!swept.renewed, "a sweep in time renews nothing");
            all.requeued.extend(swept.requeued);
            all.failed.extend(swept.failed);
            all.evicted.extend(swept.evicted);
        }
        all
    }

    /// Lets every lease expire while the given nodes stay connected.
    pub(crate) async fn lose_leases(&self, alive: &[&TestNode]) -> Swept {
        self.pass(self.policy().lease_ttl, alive).await
    }

    /// Waits for the end of the job's back-off.
    pub(crate) async fn wait_for(&self, id: JobId, alive: &[&TestNode]) {
        if let Some(at) = self.job(id).await.available_at {
            self.pass(at.since(self.now()), alive).await;
        }
    }

    pub(crate) async fn position(&self) -> String {
        self.store.position(&self.tenant).await.unwrap()
    }

    pub(crate) async fn changes(&self, after: &str, limit: u32) -> Changes {
        self.store.changes(&self.tenant, after, limit).await.unwrap()
    }

    pub(crate) async fn changed_ids(&self, after: &str) -> Vec<JobId> {
        self.changes(after, 1000).await.jobs.iter().map(|(_, job)| job.id).collect()
    }

    pub(crate) async fn samples(&self, after: &str, limit: u32) -> Samples {
        self.store.samples(&self.tenant, after, limit).await.unwrap()
    }

    pub(crate) async fn all_samples(&self) -> Vec<Sample> {
        self.samples("", 1000).await.samples.into_iter().map(|(_, sample)| sample).collect()
    }
}
