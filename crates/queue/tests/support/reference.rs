//! The reference implementation: a queue in plain vectors with linear search, from which every store must be
//! indistinguishable.
//!
//! It has no indexes, batches or transactions, and it uses none of `transition`, `fence`, `verdict` and
//! `quarantine`, so that they are checked against it too. Time and ids are arguments: the model test passes the ids that the store under test
//! chose, so that every answer can be compared directly.
//!
//! It also decides questions that the documentation of `Store` leaves open:
//!
//! - A lease, a session, a deadline or a back-off ends at its exact instant, not only after it.
//! - A job that missed its deadline fails for that reason even if its lease expired in the same sweep.
//! - The end of a session does not end the leases of its jobs.
//! - Whether an ended back-off starts again when the clock is set back remains open, because the stores differ.
//! - Heartbeats, progress and the renewal of leases change no revision and send no notification.

mod clock;
mod faults;
mod jobs;
mod limits;
mod nodes;
mod readers;
mod store;
mod sweep;
mod work;

use std::collections::BTreeMap;

pub(crate) use store::ReferenceStore;
use vmafx_job::FailureReason;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::Attempt;
use vmafx_queue::node::{Credentials, Node, SessionToken};
use vmafx_queue::notification::Notification;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::policy::Policy;
use vmafx_queue::quarantine::NodeFaults;
use vmafx_queue::store::Sample;
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, NewJob, PullId, SessionId, TenantId};

#[derive(Clone, Debug)]
pub(crate) struct Queue {
    policy: Policy,
    jobs: Vec<Entry>,
    sessions: Vec<Session>,
    samples: Vec<Stored>,
    /// The newest removed sample of each tenant: a reader whose cursor lies before it has missed samples.
    pruned: BTreeMap<TenantId, u64>,
    /// Number of changes and samples so far, which is also the position of a reader that has read everything.
    written: u64,
    swept_at: Option<Timestamp>,
    /// Failures of nodes since their last score.
    faults: BTreeMap<(TenantId, String), NodeFaults>,
    /// Creation time of the last job since the store was opened.
    last_created: Option<Timestamp>,
    /// `None` until the first operation after opening.
    clock: Option<clock::KnownClock>,
    /// Notifications that have not been sent yet.
    notifications: Vec<Notification>,
}

#[derive(Clone, Debug)]
struct Entry {
    job: Job,
    /// The submission of the job.
    request: NewJob,
    /// The session that runs the job.
    holder: Option<SessionId>,
    /// The pull that claimed the job last.
    pull: Option<PullId>,
    attempts: Vec<Attempt>,
    /// The token of the session that held the latest attempt when its lease expired.
    expired: Option<SessionToken>,
    /// Labels of the node that claimed the job last.
    node_labels: BTreeMap<String, String>,
    /// The number of the latest change.
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
            faults: BTreeMap::new(),
            last_created: None,
            clock: None,
            notifications: vec![],
        }
    }

    /// The state after a restart: everything but progress, which is not durable.
    pub(crate) fn restarted(&self) -> Self {
        let mut found = self.clone();
        found.jobs.iter_mut().for_each(|entry| entry.job.progress = None);
        (found.last_created, found.clock) = (None, None);
        found
    }

    /// Whether a job is in back-off, or was and has not been claimed since.
    pub(crate) fn has_backoffs(&self) -> bool {
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

    /// Records a change of a job. A change of its scoring that waited for the end of the attempt takes effect if the job is
    /// pending again, and has come too late if the job is over.
    fn changed(&mut self, index: usize, now: Timestamp) {
        let number = self.count();
        let entry = &mut self.jobs[index];
        if entry.job.state != State::Running
            && let Some(next) = entry.job.next_scoring.take()
            && entry.job.state == State::Pending
        {
            entry.job.scoring = next;
        }
        entry.changed = number;
        entry.job.revision += 1;
        entry.job.updated_at = now;
        self.notifications.push(Notification::Changed { tenant: entry.job.tenant.clone() });
    }

    /// Records that a job can be claimed.
    fn claimable(&mut self, index: usize) {
        let Job { tenant, scoring, .. } = &self.jobs[index].job;
        self.notifications.push(Notification::Work {
            tenant: tenant.clone(),
            backend: scoring.backend_name().into(),
            jobs: 1,
        });
    }

    /// Ends the running attempt, if there is one. The caller sets the state of the job.
    fn end_attempt(&mut self, index: usize, now: Timestamp, outcome: AttemptOutcome, error: &str) {
        self.end_attempt_with(index, now, outcome, FailureReason::Unspecified, error);
    }

    fn end_attempt_with(
        &mut self,
        index: usize,
        now: Timestamp,
        outcome: AttemptOutcome,
        reason: FailureReason,
        error: &str,
    ) {
        let entry = &mut self.jobs[index];
        entry.holder = None;
        entry.job.lease_expires_at = None;
        entry.job.available_at = None;
        entry.job.progress = None;
        entry.job.avoids = None;
        if let Some(attempt) = entry.attempts.last_mut().filter(|attempt| attempt.ended.is_none()) {
            attempt.ended = Some((now, outcome));
            error.clone_into(&mut attempt.error);
            attempt.reason = reason;
        }
    }

    /// Adds a sample if the job is completed and has a label.
    fn sample(&mut self, index: usize, now: Timestamp) -> bool {
        let entry = &self.jobs[index];
        let (Some(result), Some(label)) = (&entry.job.result, entry.job.label) else { return false };
        let tenant = entry.job.tenant.clone();
        let sample = Sample {
            job: entry.job.id,
            features: result.features.clone(),
            label: label.value(),
            labelled_by: entry.request.labelled_by.clone(),
            node_labels: entry.node_labels.clone(),
        };
        let number = self.count();
        self.notifications.push(Notification::Sampled { tenant: tenant.clone() });
        self.samples.push(Stored { tenant, at: now, number, sample });
        true
    }
}
