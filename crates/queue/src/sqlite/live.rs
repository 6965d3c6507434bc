//! Leases and sessions in memory: their expiry, and the progress of the running jobs.
//!
//! A heartbeat changes nothing else, so it costs no write. Expiries need not be durable, because a restart renews
//! all of them.
//!
//! Operations of one transaction see each other's changes here at once, as they do in the tables. Every change is
//! recorded in an undo log, so that a failed transaction is rolled back here too. Readers combine this state with
//! rows that they read separately: a lease counts only if it belongs to the attempt of the row.

use std::collections::HashMap;
use std::sync::Arc;

use subtle::ConstantTimeEq as _;

use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, JobId, PullId, SessionId, TenantId};
use crate::job::Progress;
use crate::lost_pull::{self, RunningClaim};
use crate::node::{Capability, Heartbeat, Node, NodeResource};
use crate::policy::Policy;
use crate::quarantine::{NodeFaults, Quarantine};

#[derive(Debug)]
pub(super) struct NodeRegistration {
    pub(super) tenant: TenantId,
    pub(super) name: String,
    pub(super) capability: Capability,
    pub(super) resource: Option<NodeResource>,
    pub(super) registered_at: Timestamp,
    /// Serialized as it is stored with every attempt.
    pub(super) labels: String,
}

impl NodeRegistration {
    /// Whether this is a node of the tenant itself, not a shared one.
    fn is_at_home_in(&self, tenant: &TenantId) -> bool {
        self.tenant == *tenant && !self.capability.shared
    }
}

#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) registration: Arc<NodeRegistration>,
    pub(super) digest: [u8; 32],
    pub(super) last_seen_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// The credentials that a caller presents, with the token already hashed.
#[derive(Clone, Copy, Debug)]
pub(super) struct CredentialsDigest {
    pub(super) session: SessionId,
    pub(super) digest: [u8; 32],
}

#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub(super) number: i64,
    pub(super) tenant: TenantId,
    pub(super) session: SessionId,
    pub(super) pull: Option<PullId>,
    pub(super) attempt: AttemptNumber,
    pub(super) expires_at: Timestamp,
    pub(super) progress: Option<Progress>,
}

#[derive(Debug)]
enum UndoEntry {
    Session(SessionId, Option<Session>),
    Lease(JobId, Option<Lease>),
    Faults(NodeName, Option<NodeFaults>),
}

type NodeName = (TenantId, String);

/// Numbers of leases, so that a claim need not count them.
#[derive(Debug, Default)]
struct HeldJobs {
    by_session: HashMap<SessionId, u32>,
    by_tenant: HashMap<TenantId, u64>,
}

impl HeldJobs {
    fn add(&mut self, lease: &Lease) {
        *self.by_session.entry(lease.session).or_default() += 1;
        match self.by_tenant.get_mut(&lease.tenant) {
            Some(count) => *count += 1,
            None => drop(self.by_tenant.insert(lease.tenant.clone(), 1)),
        }
    }

    fn subtract(&mut self, lease: &Lease) {
        if let Some(count) = self.by_session.get_mut(&lease.session) {
            *count -= 1;
            if *count == 0 {
                self.by_session.remove(&lease.session);
            }
        }
        if let Some(count) = self.by_tenant.get_mut(&lease.tenant) {
            *count -= 1;
            if *count == 0 {
                self.by_tenant.remove(&lease.tenant);
            }
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct LiveState {
    sessions: HashMap<SessionId, Session>,
    leases: HashMap<JobId, Lease>,
    held: HeldJobs,
    faults: HashMap<NodeName, NodeFaults>,
    undo_log: Vec<UndoEntry>,
}

impl LiveState {
    /// The session, if it belongs to this tenant and the token is right.
    pub(super) fn session(&self, tenant: &TenantId, credentials: &CredentialsDigest) -> Option<&Session> {
        self.sessions.get(&credentials.session).filter(|session| {
            bool::from(session.digest.ct_eq(&credentials.digest)) && session.registration.tenant == *tenant
        })
    }

    /// The digest of the token of the session that holds the job.
    pub(super) fn token_of_holder(&self, job: JobId) -> Option<[u8; 32]> {
        let holder = self.leases.get(&job)?.session;
        self.sessions.get(&holder).map(|session| session.digest)
    }

    pub(super) fn has_session(&self, id: SessionId) -> bool {
        self.sessions.contains_key(&id)
    }

    pub(super) fn put_session(&mut self, id: SessionId, session: Session) {
        let previous = self.sessions.insert(id, session);
        self.undo_log.push(UndoEntry::Session(id, previous));
    }

    pub(super) fn end_session(&mut self, id: SessionId) {
        let previous = self.sessions.remove(&id);
        self.undo_log.push(UndoEntry::Session(id, previous));
    }

    pub(super) fn lease(&self, job: JobId) -> Option<&Lease> {
        self.leases.get(&job)
    }

    /// Live sessions of the tenant. A shared node counts for its home tenant only.
    pub(super) fn sessions_of(&self, tenant: &TenantId) -> u64 {
        self.sessions.values().filter(|session| session.registration.is_at_home_in(tenant)).count() as u64
    }

    /// The session of this name that was heard from longest ago.
    pub(super) fn oldest_session(&self, tenant: &TenantId, name: &str) -> Option<SessionId> {
        let namesakes = self.sessions.iter().filter(|(_, session)| {
            session.registration.is_at_home_in(tenant) && session.registration.name == name
        });
        namesakes.min_by_key(|(id, session)| (session.last_seen_at, **id)).map(|(id, _)| *id)
    }

    /// Jobs that the session holds.
    pub(super) fn held_by(&self, session: SessionId) -> u32 {
        self.held.by_session.get(&session).copied().unwrap_or(0)
    }

    /// Running jobs of the tenant.
    pub(super) fn running_of(&self, tenant: &TenantId) -> u64 {
        self.held.by_tenant.get(tenant).copied().unwrap_or(0)
    }

    fn set_lease(&mut self, job: JobId, lease: Option<Lease>) -> Option<Lease> {
        if let Some(lease) = &lease {
            self.held.add(lease);
        }
        let previous = match lease {
            Some(lease) => self.leases.insert(job, lease),
            None => self.leases.remove(&job),
        };
        if let Some(previous) = &previous {
            self.held.subtract(previous);
        }
        previous
    }

    pub(super) fn put_lease(&mut self, job: JobId, lease: Lease) {
        let previous = self.set_lease(job, Some(lease));
        self.undo_log.push(UndoEntry::Lease(job, previous));
    }

    pub(super) fn end_lease(&mut self, job: JobId) {
        let previous = self.set_lease(job, None);
        self.undo_log.push(UndoEntry::Lease(job, previous));
    }

    pub(super) fn faults(&self, tenant: &TenantId, node: &str) -> Option<&NodeFaults> {
        if self.faults.is_empty() { None } else { self.faults.get(&(tenant.clone(), node.to_owned())) }
    }

    pub(super) fn put_faults(&mut self, tenant: &TenantId, node: &str, faults: Option<NodeFaults>) {
        let name = (tenant.clone(), node.to_owned());
        let previous = match faults {
            Some(faults) => self.faults.insert(name.clone(), faults),
            None => self.faults.remove(&name),
        };
        self.undo_log.push(UndoEntry::Faults(name, previous));
    }

    /// Nodes that were last tried before this time.
    pub(super) fn faults_before(&self, time: Timestamp) -> Vec<NodeName> {
        let old = self.faults.iter().filter(|(_, faults)| faults.tried_at < time);
        old.map(|(name, _)| name.clone()).collect()
    }

    /// Whether a node of another name serves every one of these backends and is not quarantined. Every node serves the
    /// empty backend.
    pub(super) fn has_stand_in(
        &self,
        tenant: &TenantId,
        node: &str,
        backends: &[&str],
        policy: &Policy,
    ) -> bool {
        let others: Vec<&NodeRegistration> = self
            .sessions
            .values()
            .map(|session| &*session.registration)
            .filter(|other| other.tenant == *tenant && other.name != node)
            .filter(|other| {
                self.faults(tenant, &other.name).is_none_or(|faults| !faults.is_quarantined(policy))
            })
            .collect();
        backends.iter().all(|backend| others.iter().any(|other| other.capability.serves(backend)))
    }

    /// Handles a heartbeat that names only leases of its own session. `false` means that the tables must be read,
    /// or that a transaction is open whose outcome is unknown.
    pub(super) fn heartbeat(
        &mut self,
        tenant: &TenantId,
        credentials: &CredentialsDigest,
        heartbeat: &Heartbeat,
        now: Timestamp,
        policy: &Policy,
    ) -> bool {
        let holds =
            |job: &JobId| self.leases.get(job).is_some_and(|lease| lease.session == credentials.session);
        let answerable = self.undo_log.is_empty()
            && self.session(tenant, credentials).is_some()
            && heartbeat.running.iter().all(holds);
        if answerable {
            self.touch(credentials.session, now, policy);
            for job in &heartbeat.running {
                self.extend(*job, credentials.session, now + policy.lease_ttl);
            }
            for (job, attempt, progress) in &heartbeat.progress {
                self.progress(*job, credentials.session, *attempt, *progress);
            }
        }
        answerable
    }

    pub(super) fn touch(&mut self, id: SessionId, now: Timestamp, policy: &Policy) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.last_seen_at = now;
            session.expires_at = now + policy.session_ttl;
        }
    }

    /// Extends a lease. Returns whether this session holds it.
    pub(super) fn extend(&mut self, job: JobId, session: SessionId, until: Timestamp) -> bool {
        let held = self.leases.get_mut(&job).filter(|lease| lease.session == session);
        held.map(|lease| lease.expires_at = until).is_some()
    }

    /// Records the progress of an attempt, if this session holds it.
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

    /// Gives every session and lease its full duration again.
    pub(super) fn renew(&mut self, now: Timestamp, policy: &Policy) {
        for session in self.sessions.values_mut() {
            session.expires_at = now + policy.session_ttl;
        }
        for lease in self.leases.values_mut() {
            lease.expires_at = now + policy.lease_ttl;
        }
    }

    /// Expired leases, the oldest first.
    pub(super) fn expired_leases(&self, now: Timestamp, max: usize) -> Vec<(JobId, i64)> {
        let ended = self.leases.iter().filter(|(_, lease)| lease.expires_at <= now);
        first(ended.map(|(job, lease)| ((lease.expires_at, *job), (*job, lease.number))), max)
    }

    /// Expired sessions, the oldest first.
    pub(super) fn expired_sessions(
        &self,
        now: Timestamp,
        max: usize,
    ) -> Vec<(SessionId, Arc<NodeRegistration>)> {
        let ended = self.sessions.iter().filter(|(_, session)| session.expires_at <= now);
        first(
            ended.map(|(id, session)| ((session.expires_at, *id), (*id, session.registration.clone()))),
            max,
        )
    }

    /// The jobs that these pulls of the session claimed.
    pub(super) fn claimed_by(&self, session: SessionId, pulls: &[PullId]) -> Vec<JobId> {
        let is_lost = |lease: &Lease| {
            let running = RunningClaim { session: lease.session, pull: lease.pull };
            lost_pull::is_released(&running, session, pulls)
        };
        self.leases.iter().filter(|(_, lease)| is_lost(lease)).map(|(job, _)| *job).collect()
    }

    /// Matching live sessions, ordered by name and then session, with the number of jobs that each holds.
    pub(super) fn nodes(&self, fits: impl Fn(&NodeRegistration) -> bool, policy: &Policy) -> Vec<LiveNode> {
        let mut nodes: Vec<LiveNode> = self
            .sessions
            .iter()
            .filter(|(_, session)| fits(&session.registration))
            .map(|(id, session)| LiveNode {
                session: *id,
                registration: session.registration.clone(),
                last_seen_at: session.last_seen_at,
                jobs: self.held_by(*id),
                quarantine: self
                    .faults(&session.registration.tenant, &session.registration.name)
                    .and_then(|faults| faults.quarantine(policy)),
            })
            .collect();
        nodes.sort_by(|a, b| (&a.registration.name, a.session).cmp(&(&b.registration.name, b.session)));
        nodes
    }

    pub(super) fn commit(&mut self) {
        self.undo_log.clear();
    }

    pub(super) fn roll_back(&mut self) {
        while let Some(entry) = self.undo_log.pop() {
            match entry {
                UndoEntry::Session(id, previous) => put_back(&mut self.sessions, id, previous),
                UndoEntry::Lease(job, previous) => drop(self.set_lease(job, previous)),
                UndoEntry::Faults(name, previous) => put_back(&mut self.faults, name, previous),
            }
        }
    }
}

/// A copy of a session that shares its registration, so that the lock is held only briefly.
#[derive(Debug)]
pub(super) struct LiveNode {
    session: SessionId,
    pub(super) registration: Arc<NodeRegistration>,
    last_seen_at: Timestamp,
    pub(super) jobs: u32,
    pub(super) quarantine: Option<Quarantine>,
}

impl LiveNode {
    pub(super) fn node(&self) -> Node {
        Node {
            session: self.session,
            name: self.registration.name.clone(),
            capability: self.registration.capability.clone(),
            resource: self.registration.resource.clone(),
            registered_at: self.registration.registered_at,
            last_seen_at: self.last_seen_at,
            jobs: self.jobs,
            quarantine: self.quarantine.clone(),
        }
    }
}

fn put_back<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, previous: Option<V>) {
    match previous {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

/// The smallest `max` items by key.
fn first<K: Ord, V>(items: impl Iterator<Item = (K, V)>, max: usize) -> Vec<V> {
    let mut items: Vec<(K, V)> = items.collect();
    items.sort_by(|a, b| a.0.cmp(&b.0));
    items.truncate(max);
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
        let tenant = TenantId::new("acme").unwrap();
        Lease {
            number: 1,
            tenant,
            session,
            pull: None,
            attempt,
            expires_at: Timestamp(expires_at),
            progress: None,
        }
    }

    #[test]
    fn a_failed_transaction_leaves_no_trace() {
        let mut live = LiveState::default();
        live.put_lease(job(1), lease(1, 10));
        live.commit();
        live.end_lease(job(1));
        live.put_lease(job(1), lease(2, 20));
        live.put_lease(job(2), lease(1, 20));
        live.roll_back();
        assert_eq!(live.lease(job(1)).map(|lease| lease.attempt), Some(1));
        assert!(live.lease(job(2)).is_none());
        let session = SessionId(Uuid::from_u128(1));
        assert_eq!((live.held_by(session), live.running_of(&TenantId::new("acme").unwrap())), (1, 1));
        live.end_lease(job(1));
        assert_eq!((live.held_by(session), live.held.by_tenant.len()), (0, 0));
    }

    #[test]
    fn the_oldest_lease_ends_first() {
        let mut live = LiveState::default();
        for (number, expires_at) in [(1, 30), (2, 10), (3, 20), (4, 40)] {
            live.put_lease(job(number), lease(1, expires_at));
        }
        let ended = |max| -> Vec<JobId> {
            live.expired_leases(Timestamp(30), max).into_iter().map(|(job, _)| job).collect()
        };
        assert_eq!(ended(9), [job(2), job(3), job(1)]);
        assert_eq!(ended(1), [job(2)]);
    }
}
