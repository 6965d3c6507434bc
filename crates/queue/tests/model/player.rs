//! Plays a story on a store and on the model, and compares every answer.

mod readers;
mod steps;
mod words;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::node::{Credentials, SessionToken};
use vmafx_queue::policy::Policy;
use vmafx_queue::{Job, JobId, Store, TenantId};

use super::answer::Answer;
use super::op::{Lie, Op, Pick, Which};
use crate::support::build::tenant;
use crate::support::clock::TestClock;
use crate::support::reference::Queue;
use crate::support::stores::{Home, Kind};

/// Where store and model part, in words.
pub(crate) type Parted = String;

/// Two queues that ought to be one, and everything that can be named in a story.
struct Player {
    store: Arc<dyn Store>,
    model: Queue,
    clock: TestClock,
    policy: Policy,
    tenants: [TenantId; 2],
    jobs: Vec<(usize, JobId)>,
    nodes: Vec<(usize, Credentials, Vec<String>)>,
    /// Whose, the store's, the model's.
    changes: Vec<(usize, String, String)>,
    samples: Vec<(usize, String, String)>,
    /// From where each tenant's changes can be read, all of them.
    start: Vec<(usize, String)>,
    /// What was said.
    said: BTreeSet<&'static str>,
    /// The last revision seen, by the store and by the model.
    revisions: BTreeMap<JobId, (u64, u64)>,
}

/// A node as somebody claims to be it.
struct Somebody {
    index: usize,
    whose: TenantId,
    who: Credentials,
    backends: Vec<String>,
}

/// Plays it all, and at the end looks at everything there is. What was said on the way is told.
pub(crate) async fn play(kind: Kind, story: &[Op]) -> Result<BTreeSet<&'static str>, Parted> {
    let clock = TestClock::default();
    let policy = Policy::default();
    let home = Home::new(kind, policy, clock.clone()).await;
    let mut player = Player {
        store: home.open().await,
        model: Queue::new(policy),
        clock,
        policy,
        tenants: [tenant("acme"), tenant("other")],
        jobs: vec![],
        nodes: vec![],
        changes: vec![],
        samples: vec![],
        start: vec![],
        said: BTreeSet::new(),
        revisions: BTreeMap::new(),
    };
    player.begin().await?;
    for (number, op) in story.iter().enumerate() {
        player.step(op).await.map_err(|parted| format!("step {number}, {op:?}: {parted}"))?;
    }
    player.look_at_everything().await.map_err(|parted| format!("at the end: {parted}"))?;
    player.store.close().await;
    Ok(player.said)
}

impl Player {
    async fn begin(&mut self) -> Result<(), Parted> {
        // What the first sweep makes of a store without a past is no promise.
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

    fn compare<A: Answer>(&mut self, mut store: A, mut model: A) -> Result<(), Parted> {
        self.said.extend(model.says());
        store.settle();
        model.settle();
        let parted = format!("\n  store: {store:?}\n  model: {model:?}");
        let named = |jobs: Vec<&mut Job>| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        if named(store.jobs()) != named(model.jobs()) {
            return Err(parted);
        }
        for (theirs, ours) in store.jobs().into_iter().zip(model.jobs()) {
            let now = (theirs.revision, ours.revision);
            let last = self.revisions.insert(ours.id, now).unwrap_or(now);
            if now.0.cmp(&last.0) != now.1.cmp(&last.1) {
                return Err(format!("the revision went from {} to {} in {theirs:?}", last.0, now.0));
            }
            (theirs.revision, ours.revision) = (0, 0);
        }
        if store == model { Ok(()) } else { Err(parted) }
    }

    fn pick(&self, pick: Pick, node: Option<usize>) -> JobId {
        let held: Vec<_> = match (pick, node) {
            (Pick::Held(_), Some(node)) => self.model.held_by(self.nodes[node].1.session),
            _ => vec![],
        };
        match pick {
            Pick::Held(number) if !held.is_empty() => held[usize::from(number) % held.len()],
            Pick::Held(number) | Pick::Any(number) if !self.jobs.is_empty() => {
                self.jobs[usize::from(number) % self.jobs.len()].1
            }
            _ => JobId(Uuid::from_u128(7)),
        }
    }

    /// The attempt that is meant; 0 when there is none to mean.
    fn attempt(&self, which: Which, id: JobId) -> Option<u32> {
        let attempts = self.tenants.iter().map(|whose| self.model.attempts(whose, id).len());
        let latest = u32::try_from(attempts.max().unwrap_or(0)).unwrap();
        match which {
            Which::Latest => Some(latest),
            Which::Before => Some(latest.saturating_sub(1)),
            Which::Next => Some(latest + 1),
            Which::Untold => None,
        }
    }

    /// The node with this number, truly or with a lie.
    fn as_node(&self, number: u8, lie: Lie) -> Option<Somebody> {
        let count = self.nodes.len();
        let index = usize::from(number).checked_rem(count)?;
        let (whose, who, backends) = self.nodes[index].clone();
        let (whose, who) = match lie {
            Lie::Nothing => (whose, who),
            Lie::Token => (whose, Credentials { token: SessionToken("guess".into()), ..who }),
            Lie::Tenant => (1 - whose, who),
        };
        Some(Somebody { index, whose: self.tenants[whose].clone(), who, backends })
    }
}
