//! Plays a story on a store and on the model, and compares every answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use vmafx_queue::clock::{Clock, Timestamp};
use vmafx_queue::job::Progress;
use vmafx_queue::node::{Beat, Credentials, Report, SessionToken};
use vmafx_queue::outcome::FailureReason;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Changes, Filter, LabelTarget, Page, Retention, Samples};
use vmafx_queue::transition::State;
use vmafx_queue::{JobId, Store, TenantId};

use super::answer::Answer;
use super::op::{Lie, Op, Pick, Which};
use crate::support::build::{JobBuilder, NodeBuilder, first, job, key, node, origin, percent, score, tenant};
use crate::support::clock::TestClock;
use crate::support::reference::Queue;
use crate::support::stores::{Home, Kind};

/// Where store and model part, in words.
pub(crate) type Parted = String;

const BACKENDS: [&str; 3] = ["", "cpu", "cuda"];

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
    /// The last revision seen, by the store and by the model.
    revisions: BTreeMap<JobId, (u64, u64)>,
}

/// Plays it all, and at the end looks at everything there is.
pub(crate) async fn play(kind: Kind, story: &[Op]) -> Result<(), Parted> {
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
        revisions: BTreeMap::new(),
    };
    player.begin().await?;
    for (number, op) in story.iter().enumerate() {
        player.step(op).await.map_err(|parted| format!("step {number}, {op:?}: {parted}"))?;
    }
    player.look_at_everything().await.map_err(|parted| format!("at the end: {parted}"))?;
    player.store.close().await;
    Ok(())
}

impl Player {
    async fn begin(&mut self) -> Result<(), Parted> {
        // What the first sweep makes of a store without a past is no promise.
        self.store.sweep().await.unwrap();
        self.model.sweep(self.now());
        for whose in 0..self.tenants.len() {
            self.position(whose).await;
            self.samples.push((whose, String::new(), String::new()));
        }
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn compare<A: Answer>(&mut self, mut store: A, mut model: A) -> Result<(), Parted> {
        store.settle();
        model.settle();
        for (theirs, ours) in store.jobs().into_iter().zip(model.jobs()) {
            let now = (theirs.revision, ours.revision);
            let last = self.revisions.insert(ours.id, now).unwrap_or(now);
            if now.0.cmp(&last.0) != now.1.cmp(&last.1) {
                return Err(format!("the revision went from {} to {} in {theirs:?}", last.0, now.0));
            }
            (theirs.revision, ours.revision) = (0, 0);
        }
        if store == model { Ok(()) } else { Err(format!("\n  store: {store:?}\n  model: {model:?}")) }
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

    /// A session as somebody claims to be it.
    fn as_node(&self, number: u8, lie: Lie) -> Option<(usize, TenantId, Credentials, Vec<String>)> {
        let count = self.nodes.len();
        let index = usize::from(number).checked_rem(count)?;
        let (whose, who, backends) = self.nodes[index].clone();
        let (whose, who) = match lie {
            Lie::Nothing => (whose, who),
            Lie::Token => (whose, Credentials { token: SessionToken("guess".into()), ..who }),
            Lie::Tenant => (1 - whose, who),
        };
        Some((index, self.tenants[whose].clone(), who, backends))
    }

    async fn position(&mut self, whose: usize) {
        let cursor = self.store.position(&self.tenants[whose]).await.unwrap();
        self.changes.push((whose, cursor, self.model.position()));
    }

    async fn read_changes(&mut self, number: usize, limit: u32) -> Result<usize, Parted> {
        let (whose, theirs, ours) = self.changes[number].clone();
        let store = self.store.changes(&self.tenants[whose], &theirs, limit).await;
        let store = store.map_err(|error| error.to_string())?;
        let model = self.model.changes(&self.tenants[whose], &ours, limit).unwrap();
        let cursors = |it: &Changes| {
            it.jobs.iter().map(|(cursor, _)| cursor.clone()).chain([it.next.clone()]).collect::<Vec<_>>()
        };
        let read = store.jobs.len();
        let pairs = cursors(&store).into_iter().zip(cursors(&model));
        self.changes.extend(pairs.map(|(theirs, ours)| (whose, theirs, ours)));
        self.compare(store, model)?;
        Ok(read)
    }

    async fn read_samples(&mut self, number: usize, limit: u32) -> Result<usize, Parted> {
        let (whose, theirs, ours) = self.samples[number].clone();
        let store = self.store.samples(&self.tenants[whose], &theirs, limit).await;
        let model = self.model.samples(&self.tenants[whose], &ours, limit);
        let (store, model) = match (store, model) {
            (Ok(store), Ok(model)) => (store, model),
            (Err(_), Err(_)) => return Ok(0),
            (store, model) => return Err(format!("\n  store: {store:?}\n  model: {model:?}")),
        };
        let cursors = |it: &Samples| {
            it.samples.iter().map(|(cursor, _)| cursor.clone()).chain([it.next.clone()]).collect::<Vec<_>>()
        };
        let read = store.samples.len();
        let pairs = cursors(&store).into_iter().zip(cursors(&model));
        self.samples.extend(pairs.map(|(theirs, ours)| (whose, theirs, ours)));
        self.compare(store, model)?;
        Ok(read)
    }

    async fn sweep(&mut self) -> Result<(), Parted> {
        let model = self.model.sweep(self.now());
        self.compare(self.store.sweep().await.unwrap(), model)
    }

    async fn look(&mut self, whose: &TenantId, id: JobId) -> Result<(), Parted> {
        let store = self.store.clone();
        self.compare(store.job(whose, id).await.unwrap(), self.model.job(whose, id))?;
        self.compare(store.attempts(whose, id).await.unwrap(), self.model.attempts(whose, id))?;
        let model = self.model.explain(self.now(), whose, id);
        self.compare(store.explain(whose, id).await.unwrap(), model)
    }

    async fn look_at_nodes(&mut self) -> Result<(), Parted> {
        let store = self.store.clone();
        for whose in self.tenants.clone() {
            self.compare(store.nodes(&whose).await.unwrap(), self.model.nodes(&whose))?;
        }
        let mut shown = store.nodes_to_show().await.unwrap();
        let mut model = self.model.nodes_to_show();
        shown.sort_by_key(|node| node.session);
        model.sort_by_key(|node| node.session);
        self.compare(shown, model)?;
        self.compare(store.stats().await.unwrap(), self.model.stats())
    }

    async fn look_at_everything(&mut self) -> Result<(), Parted> {
        for whose in self.tenants.clone() {
            let (all, page) = (Filter::default(), first(1000));
            let store = self.store.jobs(&whose, &all, &page).await.unwrap();
            self.compare(store, self.model.jobs(&whose, &all, &page))?;
        }
        for (_, id) in self.jobs.clone() {
            for whose in self.tenants.clone() {
                self.look(&whose, id).await?;
            }
        }
        self.look_at_nodes().await?;
        for number in 0..self.changes.len() {
            self.read_changes(number, 1000).await?;
        }
        for number in 0..self.samples.len() {
            self.read_samples(number, 1000).await?;
        }
        Ok(())
    }

    async fn step(&mut self, op: &Op) -> Result<(), Parted> {
        let (store, now) = (self.store.clone(), self.now());
        match op {
            Op::Submit { tenant, .. } => {
                let (whose, new) = (self.tenants[usize::from(*tenant)].clone(), submission(op));
                let answer = store.submit(&whose, new.0.clone()).await.unwrap();
                if !self.jobs.iter().any(|(_, id)| *id == answer.id) {
                    self.jobs.push((usize::from(*tenant), answer.id));
                }
                let model = self.model.submit(now, &whose, new.0, answer.id);
                self.compare(answer, model)
            }
            Op::Register { tenant, .. } => {
                let (whose, new) = (usize::from(*tenant), registration(op));
                let who = store.register(&self.tenants[whose], new.0.clone()).await.unwrap();
                self.model.register(now, &self.tenants[whose].clone(), new.0.clone(), &who);
                self.nodes.push((whose, who, new.0.capability.backends));
                Ok(())
            }
            Op::Beat { node, lie, named, progress } => {
                let Some((index, whose, who, _)) = self.as_node(*node, *lie) else { return Ok(()) };
                let mut running: Vec<_> = named.iter().map(|pick| self.pick(*pick, Some(index))).collect();
                running.sort_unstable();
                running.dedup();
                let told = |(which, done): (Which, u64)| {
                    let progress = Progress { done, total: 9 };
                    running.iter().map(|id| (*id, self.attempt(which, *id).unwrap_or(1), progress)).collect()
                };
                let beat = Beat { progress: progress.map(told).unwrap_or_default(), running };
                let model = self.model.heartbeat(now, &whose, &who, &beat);
                self.compare(store.heartbeat(&whose, &who, beat).await.unwrap(), model)
            }
            Op::Claim { node, lie } => {
                let Some((_, whose, who, backends)) = self.as_node(*node, *lie) else { return Ok(()) };
                let model = self.model.claim(now, &whose, &who, &backends);
                self.compare(store.claim(&whose, &who, &backends).await.unwrap(), model)
            }
            Op::Report { node, lie, job, attempt, score: value } => {
                let Some((index, whose, who, _)) = self.as_node(*node, *lie) else { return Ok(()) };
                let job = self.pick(*job, Some(index));
                let result = value
                    .map(|value| score(f64::from(value)))
                    .ok_or_else(|| (FailureReason(21), "no memory".to_owned()));
                let report = Report { job, attempt: self.attempt(*attempt, job), result };
                let model = self.model.report(now, &whose, &who, report.clone());
                self.compare(store.report(&whose, &who, report).await.unwrap(), model)
            }
            Op::Release { node, lie, job, attempt } => {
                let Some((index, whose, who, _)) = self.as_node(*node, *lie) else { return Ok(()) };
                let job = self.pick(*job, Some(index));
                let attempt = self.attempt(*attempt, job).unwrap_or(0);
                let model = self.model.release(now, &whose, &who, job, attempt, "leaving");
                self.compare(store.release(&whose, &who, job, attempt, "leaving").await.unwrap(), model)
            }
            Op::Cancel { tenant, job } => {
                let (whose, id) = (self.tenants[usize::from(*tenant)].clone(), self.pick(*job, None));
                let model = self.model.cancel(now, &whose, id, "unwanted");
                self.compare(store.cancel(&whose, id, "unwanted").await.unwrap(), model)
            }
            Op::Label { tenant, job, key: of_key, value } => {
                let whose = self.tenants[usize::from(*tenant)].clone();
                let target = match of_key {
                    Some(number) => LabelTarget::Key(key(&format!("key {number}"))),
                    None => LabelTarget::Id(self.pick(*job, None)),
                };
                let label = percent(f64::from(*value));
                let model = self.model.label(now, &whose, &target, label);
                self.compare(store.label(&whose, &target, label).await.unwrap(), model)
            }
            Op::Look { tenant, job } => {
                let whose = self.tenants[usize::from(*tenant)].clone();
                self.look(&whose, self.pick(*job, None)).await
            }
            Op::List { tenant, after, .. } => {
                let whose = self.tenants[usize::from(*tenant)].clone();
                let after = after.and_then(|pick| {
                    self.model.job(&whose, self.pick(pick, None)).map(|job| (job.created_at, job.id))
                });
                let (filter, page) = question(op, after);
                let answer = store.jobs(&whose, &filter, &page).await.unwrap();
                self.compare(answer, self.model.jobs(&whose, &filter, &page))
            }
            Op::Position { tenant } => {
                self.position(usize::from(*tenant)).await;
                Ok(())
            }
            Op::Changes { cursor, limit } => {
                self.read_changes(usize::from(*cursor) % self.changes.len(), *limit).await.map(drop)
            }
            Op::Samples { cursor, limit } => {
                self.read_samples(usize::from(*cursor) % self.samples.len(), *limit).await.map(drop)
            }
            Op::Nodes => self.look_at_nodes().await,
            Op::Advance { millis } => {
                self.clock.advance(Duration::from_millis(*millis));
                Ok(())
            }
            Op::TurnBack { seconds } => {
                self.clock.turn_back(Duration::from_secs(*seconds));
                Ok(())
            }
            Op::Sweep => self.sweep().await,
            Op::Sweeps { count } => {
                for _ in 0..*count {
                    self.clock.advance(self.policy.sweep_interval * 2);
                    self.sweep().await?;
                }
                Ok(())
            }
            Op::Prune { seconds } => {
                // Half a millisecond cannot be, so nothing ends at the very edge.
                let age = Duration::from_secs(*seconds) + Duration::from_millis(500);
                let keep =
                    Retention { jobs_for: age, jobs: 1000, samples_for: age, samples: 1000, batch: 1000 };
                let model = self.model.prune(now, &keep);
                self.compare(store.prune(&keep).await.unwrap(), model)
            }
        }
    }
}

fn submission(op: &Op) -> JobBuilder {
    let Op::Submit { priority, backend, key, limit, deadline, label, origin: of, .. } = op else {
        return job();
    };
    let mut new = job().priority(*priority).backend(BACKENDS[usize::from(*backend)]);
    if let Some(number) = key {
        new = new.key(&format!("key {number}"));
    }
    if let Some(limit) = limit {
        new = new.lost_limit(*limit);
    }
    if let Some(seconds) = deadline {
        new = new.deadline(Duration::from_secs(*seconds));
    }
    if let Some(value) = label {
        new = new.label(f64::from(*value));
    }
    if let Some(number) = of {
        new = new.origin(origin("video", &format!("clip {number}")));
    }
    new
}

fn registration(op: &Op) -> NodeBuilder {
    let Op::Register { backends, slots, labels, shown, .. } = op else { return node("n") };
    let backends = (1..3).filter(|bit| backends & bit != 0).map(|bit| BACKENDS[bit as usize]);
    let labels = [("zone", "a"), ("gpu", "b")].into_iter().take(usize::from(*labels));
    let new = node("n").backends(backends).slots(*slots).labels(labels);
    if *shown { new.resource(origin("video", "gpu")) } else { new }
}

fn question(op: &Op, after: Option<(Timestamp, JobId)>) -> (Filter, Page) {
    let Op::List { states, origin: of, limit, newest_first, .. } = op else {
        return (Filter::default(), first(1));
    };
    let chosen = State::ALL.into_iter().enumerate().filter(|(bit, _)| states & (1 << bit) != 0);
    let filter = Filter {
        states: chosen.map(|(_, state)| state).collect(),
        origin: of.map(|number| origin("video", &format!("clip {number}"))),
        ids: vec![],
    };
    (filter, Page { after, limit: *limit, newest_first: *newest_first })
}
