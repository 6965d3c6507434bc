//! What is known of leases and sessions without being stored: until when they hold, and how far the jobs are.
//!
//! A heartbeat changes nothing else, so it costs no write. After a restart all of them get their full time anyway.
//!
//! Operations of one transaction see each other's changes here at once, as they do in the tables. Every change leaves
//! the former value behind, so that a transaction that fails is undone here too. Readers look at this beside the
//! tables: what they see here counts only as far as the row of the job agrees.

use std::collections::HashMap;
use std::sync::Arc;

use subtle::ConstantTimeEq as _;

use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, JobId, SessionId, TenantId};
use crate::job::{Origin, Progress};
use crate::node::{Beat, Capability, Node};
use crate::policy::Policy;

/// What a node said when it registered.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) tenant: TenantId,
    pub(super) name: String,
    pub(super) capability: Capability,
    pub(super) resource: Option<Origin>,
    pub(super) registered_at: Timestamp,
    /// Its labels as they are stored with an attempt.
    pub(super) labels: String,
}

/// A session.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) facts: Arc<Facts>,
    pub(super) digest: [u8; 32],
    pub(super) last_seen_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// A session as somebody claims to have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seal {
    pub(super) session: SessionId,
    pub(super) digest: [u8; 32],
}

/// The holding of a job.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub(super) number: i64,
    pub(super) session: SessionId,
    pub(super) attempt: AttemptNumber,
    pub(super) expires_at: Timestamp,
    pub(super) progress: Option<Progress>,
}

#[derive(Debug)]
enum Former {
    Session(SessionId, Option<Session>),
    Lease(JobId, Option<Lease>),
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Live {
    sessions: HashMap<SessionId, Session>,
    leases: HashMap<JobId, Lease>,
    former: Vec<Former>,
}

impl Live {
    /// The session, if it is this tenant's and the secret is right.
    pub(super) fn session(&self, tenant: &TenantId, seal: &Seal) -> Option<&Session> {
        self.sessions
            .get(&seal.session)
            .filter(|session| session.digest.ct_eq(&seal.digest).into() && session.facts.tenant == *tenant)
    }

    pub(super) fn put_session(&mut self, id: SessionId, session: Session) {
        let former = self.sessions.insert(id, session);
        self.former.push(Former::Session(id, former));
    }

    pub(super) fn end_session(&mut self, id: SessionId) {
        let former = self.sessions.remove(&id);
        self.former.push(Former::Session(id, former));
    }

    pub(super) fn lease(&self, job: JobId) -> Option<&Lease> {
        self.leases.get(&job)
    }

    pub(super) fn put_lease(&mut self, job: JobId, lease: Lease) {
        let former = self.leases.insert(job, lease);
        self.former.push(Former::Lease(job, former));
    }

    pub(super) fn end_lease(&mut self, job: JobId) {
        let former = self.leases.remove(&job);
        self.former.push(Former::Lease(job, former));
    }

    /// Answers a heartbeat by what is known here alone: its session, and leases that it has. `false`: it takes a look
    /// into the tables, or a transaction is under way whose end nobody knows.
    pub(super) fn beat(
        &mut self,
        tenant: &TenantId,
        seal: &Seal,
        beat: &Beat,
        now: Timestamp,
        policy: &Policy,
    ) -> bool {
        let holds = |job: &JobId| self.leases.get(job).is_some_and(|lease| lease.session == seal.session);
        let known =
            self.former.is_empty() && self.session(tenant, seal).is_some() && beat.running.iter().all(holds);
        if known {
            self.touch(seal.session, now, policy);
            for job in &beat.running {
                self.extend(*job, seal.session, now + policy.lease_ttl);
            }
            for (job, attempt, progress) in &beat.progress {
                self.progress(*job, seal.session, *attempt, *progress);
            }
        }
        known
    }

    /// Keeps a session alive.
    pub(super) fn touch(&mut self, id: SessionId, now: Timestamp, policy: &Policy) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.last_seen_at = now;
            session.expires_at = now + policy.session_ttl;
        }
    }

    /// Keeps a lease alive; whether this session has it.
    pub(super) fn extend(&mut self, job: JobId, session: SessionId, until: Timestamp) -> bool {
        let held = self.leases.get_mut(&job).filter(|lease| lease.session == session);
        held.map(|lease| lease.expires_at = until).is_some()
    }

    /// Notes how far an attempt is, if this session has it.
    pub(super) fn progress(
        &mut self,
        job: JobId,
        session: SessionId,
        attempt: AttemptNumber,
        progress: Progress,
    ) {
        let held =
            self.leases.get_mut(&job).filter(|held| (held.session, held.attempt) == (session, attempt));
        if let Some(lease) = held {
            lease.progress = Some(progress);
        }
    }

    /// Gives everybody the full time.
    pub(super) fn renew(&mut self, now: Timestamp, policy: &Policy) {
        for session in self.sessions.values_mut() {
            session.expires_at = now + policy.session_ttl;
        }
        for lease in self.leases.values_mut() {
            lease.expires_at = now + policy.lease_ttl;
        }
    }

    /// Leases that ran out, the oldest first, at most so many.
    pub(super) fn expired_leases(&self, now: Timestamp, most: usize) -> Vec<(JobId, i64)> {
        let ended = self.leases.iter().filter(|(_, lease)| lease.expires_at <= now);
        first(ended.map(|(job, lease)| ((lease.expires_at, *job), (*job, lease.number))), most)
    }

    /// Sessions that ran out, the oldest first, at most so many.
    pub(super) fn expired_sessions(&self, now: Timestamp, most: usize) -> Vec<(SessionId, Arc<Facts>)> {
        let ended = self.sessions.iter().filter(|(_, session)| session.expires_at <= now);
        first(ended.map(|(id, session)| ((session.expires_at, *id), (*id, session.facts.clone()))), most)
    }

    /// Live sessions that fit, by name and then session, with the number of jobs each holds.
    pub(super) fn nodes(&self, fits: impl Fn(&Facts) -> bool) -> Vec<LiveNode> {
        let mut held: HashMap<SessionId, u32> = HashMap::new();
        for lease in self.leases.values() {
            *held.entry(lease.session).or_default() += 1;
        }
        let mut nodes: Vec<LiveNode> = self
            .sessions
            .iter()
            .filter(|(_, session)| fits(&session.facts))
            .map(|(id, session)| LiveNode {
                session: *id,
                facts: session.facts.clone(),
                last_seen_at: session.last_seen_at,
                jobs: held.get(id).copied().unwrap_or(0),
            })
            .collect();
        nodes.sort_by(|a, b| (&a.facts.name, a.session).cmp(&(&b.facts.name, b.session)));
        nodes
    }

    /// Keeps what was changed.
    pub(super) fn commit(&mut self) {
        self.former.clear();
    }

    /// Undoes what was changed.
    pub(super) fn roll_back(&mut self) {
        while let Some(former) = self.former.pop() {
            match former {
                Former::Session(id, former) => put_back(&mut self.sessions, id, former),
                Former::Lease(job, former) => put_back(&mut self.leases, job, former),
            }
        }
    }
}

/// A session, cheap to copy out while others wait.
#[derive(Debug)]
pub(super) struct LiveNode {
    session: SessionId,
    pub(super) facts: Arc<Facts>,
    last_seen_at: Timestamp,
    pub(super) jobs: u32,
}

impl LiveNode {
    pub(super) fn node(&self) -> Node {
        Node {
            session: self.session,
            name: self.facts.name.clone(),
            capability: self.facts.capability.clone(),
            resource: self.facts.resource.clone(),
            registered_at: self.facts.registered_at,
            last_seen_at: self.last_seen_at,
            jobs: self.jobs,
        }
    }
}

fn put_back<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, former: Option<V>) {
    match former {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

/// The first so many by key.
fn first<K: Ord, V>(items: impl Iterator<Item = (K, V)>, most: usize) -> Vec<V> {
    let mut items: Vec<(K, V)> = items.collect();
    items.sort_by(|a, b| a.0.cmp(&b.0));
    items.truncate(most);
    items.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn job(number: u128) -> JobId {
        JobId(Uuid::from_u128(number))
    }

    fn lease(attempt: AttemptNumber, expires_at: i64) -> Lease {
        let session = SessionId(Uuid::from_u128(1));
        Lease { number: 1, session, attempt, expires_at: Timestamp(expires_at), progress: None }
    }

    #[test]
    fn a_failed_transaction_leaves_no_trace() {
        let mut live = Live::default();
        live.put_lease(job(1), lease(1, 10));
        live.commit();
        live.end_lease(job(1));
        live.put_lease(job(1), lease(2, 20));
        live.put_lease(job(2), lease(1, 20));
        live.roll_back();
        assert_eq!(live.lease(job(1)).map(|lease| lease.attempt), Some(1));
        assert!(live.lease(job(2)).is_none());
    }

    #[test]
    fn the_oldest_lease_ends_first() {
        let mut live = Live::default();
        for (number, expires_at) in [(1, 30), (2, 10), (3, 20), (4, 40)] {
            live.put_lease(job(number), lease(1, expires_at));
        }
        let ended = |most| -> Vec<JobId> {
            live.expired_leases(Timestamp(30), most).into_iter().map(|(job, _)| job).collect()
        };
        assert_eq!(ended(9), [job(2), job(3), job(1)]);
        assert_eq!(ended(1), [job(2)]);
    }
}
