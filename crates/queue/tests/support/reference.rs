//! The queue as plain vectors that are searched from end to end: what every store must be indistinguishable from.
//!
//! It knows nothing of indexes, batches or transactions, and it uses neither `transition` nor `fence`, so that those
//! are checked against it too. Time and ids come in as arguments: the model test gives it the ids that the store
//! under test has chosen, and every answer can then be compared as it is.
//!
//! Questions that the promises of `Store` leave open, and the answer that is held here:
//!
//! - A lease, a session, a deadline or a pause is over at its instant, not only after it.
//! - A job that is out of time fails for that reason, also when its lease ran out in the same sweep.
//! - A session that ends leaves its jobs to their leases.
//! - Whether a pause that was over begins again when the clock goes back is left open: the stores differ.
//! - Heartbeats, progress and forgiveness change no revision and announce nothing.

mod jobs;
mod nodes;
mod readers;
mod store;
mod sweep;
mod work;

use std::collections::BTreeMap;

pub(crate) use store::ReferenceStore;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::Attempt;
use vmafx_queue::node::{Credentials, Node, SessionToken};
use vmafx_queue::notice::Notice;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::Sample;
use vmafx_queue::{Job, JobId, SessionId, TenantId};

/// Everything there is.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    policy: Policy,
    jobs: Vec<Entry>,
    sessions: Vec<Session>,
    samples: Vec<Stored>,
    /// The newest sample of each tenant that was removed: a reader that stands before it missed something.
    pruned: BTreeMap<TenantId, u64>,
    /// Changes and samples so far: the position of a reader that has seen all.
    written: u64,
    swept_at: Option<Timestamp>,
    /// What is to be told, and was not yet.
    news: Vec<Notice>,
}

#[derive(Clone, Debug)]
struct Entry {
    job: Job,
    /// Who holds it, while it runs.
    holder: Option<SessionId>,
    attempts: Vec<Attempt>,
    /// Labels of the node that took it last.
    node_labels: BTreeMap<String, String>,
    /// Where its latest change stands among all changes.
    changed: u64,
}

#[derive(Clone, Debug)]
struct Session {
    tenant: TenantId,
    node: Node,
    token: SessionToken,
    expires_at: Timestamp,
}

#[derive(Clone, Debug)]
struct Stored {
    tenant: TenantId,
    at: Timestamp,
    number: u64,
    sample: Sample,
}

impl Queue {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            jobs: vec![],
            sessions: vec![],
            samples: vec![],
            pruned: BTreeMap::new(),
            written: 0,
            swept_at: None,
            news: vec![],
        }
    }

    /// What a new process finds: all but progress, which is not durable.
    pub(crate) fn restarted(&self) -> Self {
        let mut found = self.clone();
        found.jobs.iter_mut().for_each(|entry| entry.job.progress = None);
        found
    }

    /// Takes what is to be told.
    pub(crate) fn take_news(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.news)
    }

    /// Whether a job pauses, or did and was not taken since.
    pub(crate) fn has_pauses(&self) -> bool {
        self.jobs.iter().any(|entry| entry.job.available_at.is_some())
    }

    fn index(&self, tenant: &TenantId, id: JobId) -> Option<usize> {
        self.jobs.iter().position(|entry| entry.job.tenant == *tenant && entry.job.id == id)
    }

    fn find(&self, tenant: &TenantId, id: JobId) -> Option<&Entry> {
        self.index(tenant, id).map(|index| &self.jobs[index])
    }

    fn session(&self, tenant: &TenantId, who: &Credentials) -> Option<usize> {
        self.sessions.iter().position(|session| {
            session.tenant == *tenant && session.node.session == who.session && session.token == who.token
        })
    }

    fn count(&mut self) -> u64 {
        self.written += 1;
        self.written
    }

    /// Notes that a job changed.
    fn changed(&mut self, index: usize, now: Timestamp) {
        let number = self.count();
        let entry = &mut self.jobs[index];
        entry.changed = number;
        entry.job.revision += 1;
        entry.job.updated_at = now;
        self.news.push(Notice::Changed { tenant: entry.job.tenant.clone() });
    }

    /// Notes that a job can be claimed.
    fn claimable(&mut self, index: usize) {
        let Job { tenant, scoring, .. } = &self.jobs[index].job;
        self.news.push(Notice::Work {
            tenant: tenant.clone(),
            backend: scoring.backend_name().into(),
            jobs: 1,
        });
    }

    /// Ends the running attempt, if one runs. The job's own state is the caller's business.
    fn end_attempt(&mut self, index: usize, now: Timestamp, outcome: AttemptOutcome, error: &str) {
        let entry = &mut self.jobs[index];
        entry.holder = None;
        entry.job.lease_expires_at = None;
        entry.job.available_at = None;
        entry.job.progress = None;
        if let Some(attempt) = entry.attempts.last_mut().filter(|attempt| attempt.ended.is_none()) {
            attempt.ended = Some((now, outcome));
            error.clone_into(&mut attempt.error);
        }
    }

    /// Makes a sample of a completed job with a label.
    fn sample(&mut self, index: usize, now: Timestamp) -> bool {
        let entry = &self.jobs[index];
        let (Some(success), Some(label)) = (&entry.job.success, entry.job.label) else { return false };
        let tenant = entry.job.tenant.clone();
        let sample = Sample {
            job: entry.job.id,
            features: success.features.clone(),
            label: label.value(),
            node_labels: entry.node_labels.clone(),
        };
        let number = self.count();
        self.news.push(Notice::Sampled { tenant: tenant.clone() });
        self.samples.push(Stored { tenant, at: now, number, sample });
        true
    }
}
