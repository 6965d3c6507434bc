//! Runs one operation on the store and on the model.

use std::time::Duration;

use uuid::Uuid;
use vmafx_job::CancelCause;
use vmafx_queue::clock::Clock as _;
use vmafx_queue::job::Labeller;
use vmafx_queue::node::{Credentials, Heartbeat, SessionToken};
use vmafx_queue::store::{LabelTarget, Retention, Submitted};
use vmafx_queue::{JobId, SessionId, StoreError, StoreResult};

use super::super::answer::Refused;
use super::values::{SUBMITTERS, change, list_query, registration, submission};
use super::{Mismatch, Runner};
use crate::model::op::{CredentialFault, JobChoice, Op};
use crate::support::build::{by_key, percent};

/// A refusal is an answer.
fn outcome<T>(answer: StoreResult<T>) -> Result<T, Refused> {
    answer.map_err(|error| match error {
        StoreError::KeyReused { job } => Refused::KeyReused(job),
        StoreError::LimitReached { limit, max } => Refused::LimitReached(limit, max),
        other => panic!("{other:?}"),
    })
}

impl Runner {
    /// The order in which one sweep changes jobs is not specified, so the model adopts that of the store.
    async fn sweep(&mut self) -> Result<(), Mismatch> {
        let model = self.model.sweep(self.now());
        let several = model.requeued.len() + model.failed.len() > 1;
        self.compare(self.store.sweep().await.unwrap(), model)?;
        if several {
            for (whose, start) in self.start.clone() {
                let changes = self.store.changes(&self.tenants[whose], &start, 1000).await.unwrap();
                let order: Vec<_> = changes.jobs.iter().map(|(_, job)| job.id).collect();
                self.model.reorder(&order);
            }
        }
        Ok(())
    }

    async fn keep_alive(&mut self, node: usize) -> Result<(), Mismatch> {
        let Some((whose, who, _)) = self.nodes.get(node).cloned() else { return Ok(()) };
        let whose = self.tenants[whose].clone();
        let model = self.model.heartbeat(self.now(), &whose, &who, &Heartbeat::default());
        self.compare(self.store.heartbeat(&whose, &who, Heartbeat::default()).await.unwrap(), model)
    }

    /// Advances the clock by more than the sweep interval and sweeps, `count` times. The nodes in the bit set `alive` send a
    /// heartbeat before each sweep.
    async fn sweep_repeatedly(&mut self, count: u8, alive: u8) -> Result<(), Mismatch> {
        for _ in 0..count {
            self.clock.advance(self.policy.sweep_interval * 2);
            for node in (0..8).filter(|bit| alive & (1 << bit) != 0) {
                self.keep_alive(node).await?;
            }
            self.sweep().await?;
        }
        Ok(())
    }

    async fn submit(&mut self, tenant: usize, op: &Op) -> Result<(), Mismatch> {
        let (whose, new) = (self.tenants[tenant].clone(), submission(op));
        let answer = outcome(self.store.submit(&whose, new.0.clone(), &self.limits).await);
        let id = match answer {
            Ok(Submitted { id, .. }) | Err(Refused::KeyReused(id)) => Some(id),
            Err(Refused::LimitReached(..)) => None,
        };
        if let Some(id) = id
            && !self.jobs.iter().any(|(_, known)| *known == id)
        {
            self.jobs.push((tenant, id));
        }
        let (now, limits) = (self.now(), self.limits);
        let id = id.unwrap_or(JobId(Uuid::nil()));
        let model = outcome(self.model.submit(now, &whose, new.0, id, &limits));
        self.compare(answer, model)
    }

    async fn list(&mut self, tenant: usize, after: Option<JobChoice>, op: &Op) -> Result<(), Mismatch> {
        let whose = self.tenants[tenant].clone();
        let after = after.and_then(|pick| {
            self.model.job(&whose, self.pick(pick, None)).map(|job| (job.created_at, job.id))
        });
        let (filter, page) = list_query(op, after);
        let answer = self.store.jobs(&whose, &filter, &page).await.unwrap();
        self.compare(answer, self.model.jobs(&whose, &filter, &page))
    }

    async fn label(&mut self, tenant: usize, op: &Op) -> Result<(), Mismatch> {
        let Op::Label { job, key, value, .. } = op else { return Ok(()) };
        let whose = self.tenants[tenant].clone();
        let target = match key {
            Some(number) => {
                // Somebody who submitted nothing, or the first submitter.
                let caller = if value.is_multiple_of(2) { SUBMITTERS[0] } else { "carol" };
                by_key(&format!("key {number}"), caller)
            }
            None => LabelTarget::Id(self.pick(*job, None)),
        };
        let label = percent(f64::from(*value));
        let by = Labeller::new(format!("viewer {}", value % 3));
        let model = self.model.label(self.now(), &whose, &target, label, &by);
        self.compare(self.store.label(&whose, &target, label, &by).await.unwrap(), model)
    }

    pub(super) async fn step(&mut self, op: &Op) -> Result<(), Mismatch> {
        let (store, now, limits) = (self.store.clone(), self.now(), self.limits);
        match op {
            Op::Submit { tenant, .. } => self.submit(usize::from(*tenant), op).await,
            Op::Register { tenant, .. } => {
                let (whose, new) = (usize::from(*tenant), registration(op));
                let answer = outcome(store.register(&self.tenants[whose], new.0.clone(), &limits).await);
                let nobody =
                    Credentials { session: SessionId(Uuid::nil()), token: SessionToken(String::new()) };
                let who = answer.clone().unwrap_or(nobody);
                let model =
                    self.model.register(now, &self.tenants[whose].clone(), new.0.clone(), &who, &limits);
                if answer.is_ok() {
                    self.nodes.push((whose, who, new.0.capability.backends));
                }
                self.compare(answer.map(drop), outcome(model))
            }
            Op::Heartbeat { node, fault, .. }
            | Op::Claim { node, fault }
            | Op::Report { node, fault, .. }
            | Op::Release { node, fault, .. } => match self.as_node(*node, *fault) {
                Some(who) => self.node_step(op, who).await,
                None => Ok(()),
            },
            Op::FailInARow { node, .. } => match self.as_node(*node, CredentialFault::None) {
                Some(who) => self.node_step(op, who).await,
                None => Ok(()),
            },
            Op::Cancel { tenant, job } => {
                let (whose, id) = (self.tenants[usize::from(*tenant)].clone(), self.pick(*job, None));
                let model = self.model.cancel(now, &whose, id, (CancelCause::Suspended, "unwanted"));
                self.compare(
                    store.cancel(&whose, id, CancelCause::Suspended, "unwanted").await.unwrap(),
                    model,
                )
            }
            Op::Update { tenant, job, .. } => {
                let (whose, id) = (self.tenants[usize::from(*tenant)].clone(), self.pick(*job, None));
                let update = change(op, self.model.job(&whose, id).as_ref());
                let model = outcome(self.model.update(now, &whose, id, update.clone(), &limits)).unwrap();
                self.compare(store.update(&whose, id, update, &limits).await.unwrap(), model)
            }
            Op::Label { tenant, .. } => self.label(usize::from(*tenant), op).await,
            Op::Look { tenant, job } => {
                let whose = self.tenants[usize::from(*tenant)].clone();
                self.compare_job(&whose, self.pick(*job, None)).await
            }
            Op::List { tenant, after, .. } => self.list(usize::from(*tenant), *after, op).await,
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
            Op::Nodes => self.compare_nodes().await,
            Op::Advance { millis } => {
                self.clock.advance(Duration::from_millis(*millis));
                Ok(())
            }
            // Whether an ended back-off starts again is not specified.
            Op::TurnBack { .. } if self.model.has_backoffs() => Ok(()),
            Op::TurnBack { seconds } => {
                self.clock.turn_back(Duration::from_secs(*seconds));
                self.model.follow(self.clock.reading());
                // A store may notice the step only when it sweeps.
                self.sweep().await
            }
            Op::Sweep => self.sweep().await,
            Op::Sweeps { count, alive } => self.sweep_repeatedly(*count, *alive).await,
            Op::Prune { seconds } => {
                // All times are whole seconds, so the half second keeps every age off the exact limit.
                let age = Duration::from_secs(*seconds) + Duration::from_millis(500);
                let keep =
                    Retention { jobs_for: age, jobs: 1000, samples_for: age, samples: 1000, batch: 1000 };
                let model = self.model.prune(now, &keep);
                self.compare(store.prune(&keep).await.unwrap(), model)
            }
        }
    }
}
