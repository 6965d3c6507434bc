//! Runs operations on a store and on the model, and compares every answer.

mod readers;
mod steps;
mod values;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;
use vmafx_job::TenantLimits;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::node::{Credentials, SessionToken};
use vmafx_queue::policy::Policy;
use vmafx_queue::{Job, JobId, Store, TenantId};

use super::answer::ComparableAnswer;
use super::op::{AttemptChoice, CredentialFault, JobChoice, Op};
use crate::support::build::tenant;
use crate::support::clock::TestClock;
use crate::support::reference::Queue;
use crate::support::stores::{StoreKind, StoreSetup};

/// A description of the difference between the store and the model.
pub(crate) type Mismatch = String;

/// The store and the model, and everything that an operation can refer to.
struct Runner {
    store: Arc<dyn Store>,
    model: Queue,
    clock: TestClock,
    policy: Policy,
    limits: TenantLimits,
    tenants: [TenantId; 2],
    jobs: Vec<(usize, JobId)>,
    nodes: Vec<(usize, Credentials, Vec<String>)>,
    /// Index of the tenant, cursor of the store, cursor of the model.
    changes: Vec<(usize, String, String)>,
    samples: Vec<(usize, String, String)>,
    /// For each tenant, a cursor before its first change.
    start: Vec<(usize, String)>,
    labels: BTreeSet<&'static str>,
    /// The last revisions returned by the store and by the model.
    revisions: BTreeMap<JobId, (u64, u64)>,
}

/// The node on whose behalf an operation runs.
struct Caller {
    index: usize,
    whose: TenantId,
    who: Credentials,
    backends: Vec<String>,
}

/// Runs all operations, and at the end compares everything that can be read. Returns the names of the answers.
pub(crate) async fn run(kind: StoreKind, story: &[Op]) -> Result<BTreeSet<&'static str>, Mismatch> {
    let clock = TestClock::default();
    let policy = Policy::default();
    let setup = StoreSetup::new(kind, policy, clock.clone()).await;
    let mut runner = Runner {
        store: setup.open().await,
        model: Queue::new(policy),
        clock,
        policy,
        limits: TenantLimits { pending_jobs: 8, running_jobs: 2, nodes: 2, ..TenantLimits::default() },
        tenants: [tenant("acme"), tenant("other")],
        jobs: vec![],
        nodes: vec![],
        changes: vec![],
        samples: vec![],
        start: vec![],
        labels: BTreeSet::new(),
        revisions: BTreeMap::new(),
    };
    runner.begin().await?;
    for (number, op) in story.iter().enumerate() {
        runner.step(op).await.map_err(|mismatch| format!("step {number}, {op:?}: {mismatch}"))?;
    }
    runner.compare_everything().await.map_err(|mismatch| format!("at the end: {mismatch}"))?;
    runner.store.close().await;
    Ok(runner.labels)
}

impl Runner {
    async fn begin(&mut self) -> Result<(), Mismatch> {
        self.model.follow(self.clock.reading());
        // The result of the first sweep of a store is not specified.
        self.store.sweep().await.unwrap();
        self.model.sweep(self.now());
        for whose in 0..self.tenants.len() {
            self.position(whose).await;
            self.start.extend(self.changes.last().map(|(whose, theirs, _)| (*whose, theirs.clone())));
            self.samples.push((whose, String::new(), String::new()));
        }
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn compare<A: ComparableAnswer>(&mut self, mut store: A, mut model: A) -> Result<(), Mismatch> {
        self.labels.extend(model.labels());
        store.normalize();
        model.normalize();
        let mismatch = format!("\n  store: {store:?}\n  model: {model:?}");
        let named = |jobs: Vec<&mut Job>| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        if named(store.jobs()) != named(model.jobs()) {
            return Err(mismatch);
        }
        for (theirs, ours) in store.jobs().into_iter().zip(model.jobs()) {
            let now = (theirs.revision, ours.revision);
            let last = self.revisions.insert(ours.id, now).unwrap_or(now);
            if now.0.cmp(&last.0) != now.1.cmp(&last.1) {
                return Err(format!("the revision went from {} to {} in {theirs:?}", last.0, now.0));
            }
            (theirs.revision, ours.revision) = (0, 0);
        }
        if store == model { Ok(()) } else { Err(mismatch) }
    }

    fn pick(&self, pick: JobChoice, node: Option<usize>) -> JobId {
        let held: Vec<_> = match (pick, node) {
            (JobChoice::Held(_), Some(node)) => self.model.held_by(self.nodes[node].1.session),
            _ => vec![],
        };
        match pick {
            JobChoice::Held(number) if !held.is_empty() => held[usize::from(number) % held.len()],
            JobChoice::Held(number) | JobChoice::Any(number) if !self.jobs.is_empty() => {
                self.jobs[usize::from(number) % self.jobs.len()].1
            }
            _ => JobId(Uuid::from_u128(7)),
        }
    }

    /// The chosen attempt; 0 when there is none.
    fn attempt(&self, which: AttemptChoice, id: JobId) -> Option<u32> {
        let attempts = self.tenants.iter().map(|whose| self.model.attempts(whose, id).len());
        let latest = u32::try_from(attempts.max().unwrap_or(0)).unwrap();
        match which {
            AttemptChoice::Latest => Some(latest),
            AttemptChoice::Before => Some(latest.saturating_sub(1)),
            AttemptChoice::Next => Some(latest + 1),
            AttemptChoice::Unnamed => None,
        }
    }

    /// The node with this number, possibly with wrong credentials.
    fn as_node(&self, number: u8, fault: CredentialFault) -> Option<Caller> {
        let count = self.nodes.len();
        let index = usize::from(number).checked_rem(count)?;
        let (whose, who, backends) = self.nodes[index].clone();
        let (whose, who) = match fault {
            CredentialFault::None => (whose, who),
            CredentialFault::Token => (whose, Credentials { token: SessionToken("guess".into()), ..who }),
            CredentialFault::Tenant => (1 - whose, who),
        };
        Some(Caller { index, whose: self.tenants[whose].clone(), who, backends })
    }
}
