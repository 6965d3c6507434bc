//! A fresh store, and a vocabulary in which a case reads like a story. What cannot go wrong in a story is unwrapped
//! here; what a case is about is answered as it came.

use std::sync::Arc;
use std::time::Duration;

use vmafx_job::CancelCause;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::job::Attempt;
use vmafx_queue::node::Beat;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{
    Cancelled, Changes, Explained, Filter, LabelTarget, Labelled, Sample, Samples, Submitted, Swept,
};
use vmafx_queue::{AttemptNumber, Job, JobId, Store, TenantId};

use super::build::{JobBuilder, NodeBuilder, first, node, percent, tenant};
use super::clock::TestClock;
use super::node::TestNode;
use super::notices::Heard;
use super::stores::{Home, Kind};

/// A store as one tenant sees it, with the clock it goes by.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: TestClock,
    pub(crate) tenant: TenantId,
    home: Home,
}

/// Ids as numbers in the order of submission would be nicer to read, but these are what was answered.
pub(crate) fn ids<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Vec<JobId> {
    jobs.into_iter().map(|job| job.id).collect()
}

impl Fixture {
    /// A fresh one with the default policy.
    pub(crate) async fn new(kind: Kind) -> Self {
        Self::with(kind, Policy::default()).await
    }

    /// The first sweep is done: what it makes of a store without a past is no promise.
    pub(crate) async fn with(kind: Kind, policy: Policy) -> Self {
        let clock = TestClock::default();
        let home = Home::new(kind, policy, clock.clone()).await;
        let fixture = Self { store: home.open().await, clock, tenant: tenant("acme"), home };
        fixture.sweep().await;
        fixture
    }

    /// Another, empty store of the same kind.
    pub(crate) async fn fresh(&self, policy: Policy) -> Self {
        Self::with(self.home.kind, policy).await
    }

    /// The same store after a restart.
    pub(crate) async fn reopened(self) -> Self {
        self.store.close().await;
        Self { store: self.home.open().await, ..self }
    }

    /// The same store as another tenant sees it.
    pub(crate) fn of(&self, name: &str) -> Self {
        Self { tenant: tenant(name), ..self.clone() }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.home.policy
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn listen(&self) -> Heard {
        Heard::new(&*self.store)
    }

    pub(crate) async fn submitted(&self, job: JobBuilder) -> Submitted {
        self.store.submit(&self.tenant, job.0).await.unwrap()
    }

    pub(crate) async fn submit(&self, job: JobBuilder) -> JobId {
        self.submitted(job).await.id
    }

    /// Submits one after the other, a second apart.
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

    /// How the attempts ended; `None` while one runs.
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

    pub(crate) async fn label(&self, id: JobId, value: f64) -> Labelled {
        self.store.label(&self.tenant, &LabelTarget::Id(id), percent(value)).await.unwrap()
    }

    pub(crate) async fn explained(&self, id: JobId) -> Explained {
        self.store.explain(&self.tenant, id).await.unwrap().unwrap()
    }

    pub(crate) async fn register(&self, new: NodeBuilder) -> TestNode {
        let who = self.store.register(&self.tenant, new.0.clone()).await.unwrap();
        TestNode { queue: self.clone(), who, backends: new.0.capability.backends }
    }

    /// A node that serves `cpu`.
    pub(crate) async fn node(&self, name: &str) -> TestNode {
        self.register(node(name)).await
    }

    pub(crate) async fn sweep(&self) -> Swept {
        self.store.sweep().await.unwrap()
    }

    /// Lets time pass with sweeps as regular as they should be, in which these nodes send heartbeats that name no
    /// job.
    pub(crate) async fn pass(&self, length: Duration, alive: &[&TestNode]) -> Swept {
        let mut all = Swept::default();
        let mut left = length;
        while !left.is_zero() {
            let step = left.min(self.policy().sweep_interval * 2);
            self.clock.advance(step);
            left -= step;
            for node in alive {
                assert!(node.beat_with(Beat::default()).await.is_some(), "a session that is kept alive");
            }
            let swept = self.sweep().await;
            assert!(!swept.forgiven, "sweeps that come in time forgive nothing");
            all.requeued.extend(swept.requeued);
            all.failed.extend(swept.failed);
            all.evicted.extend(swept.evicted);
        }
        all
    }

    /// Lets every lease run out while these nodes stay connected.
    pub(crate) async fn lose_leases(&self, alive: &[&TestNode]) -> Swept {
        self.pass(self.policy().lease_ttl, alive).await
    }

    /// Lets a pause end.
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
