//! Nodes and explanations.

use std::collections::{BTreeMap, BTreeSet};

use vmafx_job::{TenantLimit, TenantLimits};
use vmafx_queue::clock::Timestamp;
use vmafx_queue::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node};
use vmafx_queue::store::{Explained, QuarantinedNode, Supply};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, SessionId, StoreResult, TenantId};

use super::limits::refused;
use super::work::order;
use super::{Queue, Session};

impl Queue {
    pub(crate) fn register(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        new: NewNode,
        credentials: &Credentials,
        limits: &TenantLimits,
    ) -> StoreResult<()> {
        // A shared node counts for its home tenant only.
        let own = |session: &Session| session.tenant == *tenant && !session.node.capability.shared;
        if self.sessions.iter().filter(|session| own(session)).count() as u64 >= limits.nodes {
            let namesakes = (0..self.sessions.len()).filter(|index| {
                let session = &self.sessions[*index];
                own(session) && session.node.name == new.name
            });
            let oldest = namesakes.min_by_key(|index| {
                let node = &self.sessions[*index].node;
                (node.last_seen_at, node.session)
            });
            let Some(oldest) = oldest else { return Err(refused(TenantLimit::Nodes, limits)) };
            self.sessions.remove(oldest);
        }
        self.insert(now, tenant, new, credentials);
        Ok(())
    }

    fn insert(&mut self, now: Timestamp, tenant: &TenantId, new: NewNode, credentials: &Credentials) {
        let node = Node {
            session: credentials.session,
            name: new.name,
            capability: new.capability,
            resource: new.resource,
            registered_at: now,
            last_seen_at: now,
            jobs: 0,
            quarantine: None,
        };
        let expires_at = now + self.policy.session_ttl;
        let token = credentials.token.clone();
        self.sessions.push(Session { tenant: tenant.clone(), node, token, expires_at });
    }

    pub(crate) fn register_as(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        new: NewNode,
        credentials: &Credentials,
    ) {
        if !self.sessions.iter().any(|session| session.node.session == credentials.session) {
            self.insert(now, tenant, new, credentials);
        }
    }

    pub(crate) fn heartbeat(
        &mut self,
        now: Timestamp,
        tenant: &TenantId,
        who: &Credentials,
        heartbeat: &Heartbeat,
    ) -> Option<HeartbeatReply> {
        let session = self.session(tenant, who)?;
        self.sessions[session].node.last_seen_at = now;
        self.sessions[session].expires_at = now + self.policy.session_ttl;
        let mut reply = HeartbeatReply::default();
        for id in &heartbeat.running {
            let index = self.index(tenant, *id);
            match index.map(|index| &mut self.jobs[index]) {
                Some(entry) if entry.holder == Some(who.session) => {
                    entry.job.lease_expires_at = Some(now + self.policy.lease_ttl);
                }
                Some(entry) if entry.job.state == State::Cancelled => reply.cancelled.push(*id),
                _ => reply.lost.push(*id),
            }
        }
        for (id, attempt, progress) in &heartbeat.progress {
            let Some(index) = self.index(tenant, *id) else { continue };
            let entry = &mut self.jobs[index];
            if entry.holder == Some(who.session) && entry.job.attempt == *attempt {
                entry.job.progress = Some(*progress);
            }
        }
        Some(reply)
    }

    /// The jobs that a session holds, oldest first.
    pub(crate) fn held_by(&self, session: SessionId) -> Vec<JobId> {
        let held = self.jobs.iter().filter(|entry| entry.holder == Some(session));
        held.map(|entry| entry.job.id).collect()
    }

    fn counted(&self, Session { tenant, node, .. }: &Session) -> Node {
        let jobs = u32::try_from(self.held_by(node.session).len()).unwrap();
        Node { jobs, quarantine: self.quarantine(tenant, &node.name), ..node.clone() }
    }

    fn live(&self, wanted: impl Fn(&Session) -> bool) -> Vec<Node> {
        let mut nodes: Vec<_> = self.sessions.iter().filter(|session| wanted(session)).collect();
        nodes.sort_by(|a, b| (&a.node.name, a.node.session).cmp(&(&b.node.name, b.node.session)));
        nodes.iter().map(|it| self.counted(it)).collect()
    }

    pub(crate) fn nodes(&self, tenant: &TenantId) -> Vec<Node> {
        self.live(|session| session.tenant == *tenant)
    }

    pub(crate) fn nodes_with_resource(&self) -> Vec<Node> {
        self.live(|session| session.node.resource.is_some())
    }

    pub(crate) fn explain(&self, now: Timestamp, tenant: &TenantId, id: JobId) -> Option<Explained> {
        let job = self.job(tenant, id)?;
        let rivals = |ahead: &dyn Fn(&Job) -> bool| -> u64 {
            let rival = |other: &Job| {
                job.state == State::Pending
                    && other.state == State::Pending
                    && other.tenant == *tenant
                    && other.available_at.is_none_or(|at| at <= now)
                    && compete(job.scoring.backend_name(), other.scoring.backend_name())
                    && order(other) < order(&job)
                    && ahead(other)
            };
            self.jobs.iter().filter(|entry| rival(&entry.job)).count() as u64
        };
        let ahead_by_priority = rivals(&|other| other.priority > job.priority);
        let ahead_by_age = rivals(&|other| other.priority <= job.priority);
        let mut supply = BTreeMap::<String, Supply>::new();
        let mut quarantined = vec![];
        for node in self.nodes(tenant) {
            if let Some(quarantine) = node.quarantine {
                let (name, backends) = (node.name.clone(), node.capability.backends.clone());
                let free_slots = node.capability.slots.saturating_sub(node.jobs);
                quarantined.push(QuarantinedNode { name, backends, free_slots, quarantine });
            }
            let named = node.capability.backends.iter().map(String::as_str);
            for backend in named.chain([""]).collect::<BTreeSet<_>>() {
                let of = supply.entry(backend.to_owned()).or_default();
                of.nodes += 1;
                of.slots += node.capability.slots;
                of.busy += node.jobs;
            }
        }
        let running = self.count_of(tenant, State::Running);
        Some(Explained { job, ahead_by_priority, ahead_by_age, supply, quarantined, running })
    }
}

/// Whether one node could run jobs of both backends. A node may serve several backends, so only the names count.
fn compete(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}
