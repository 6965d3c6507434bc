//! Sessions of nodes: registration and heartbeats.

use std::collections::BTreeMap;

use vmafx_queue::node::{self as queue, Credentials, SessionToken};
use vmafx_queue::{JobId, TenantId};

use super::request::{Heartbeat, NodeSession, RegisterNode};
use super::response::{HeartbeatReply, Registration};
use super::{Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// Opens a session for a node.
    pub async fn register(&self, who: &Identity, request: RegisterNode) -> Result<Registration, Refusal> {
        let node = check::register(who, &self.0.tenancy.node_namespaces(who), request)?;
        let name = node.name.clone();
        let credentials = self.0.store.register(&who.tenant, node, &self.limits_of(&who.tenant)).await;
        let credentials = credentials.map_err(|error| self.refused(error))?;
        tracing::info!(tenant = %who.tenant, node = name, session = %credentials.session, "node registered");
        let (lease_ttl, session_ttl) = (self.0.policy.lease_ttl, self.0.policy.session_ttl);
        Ok(Registration { credentials, lease_ttl, session_ttl })
    }

    /// Keeps a session and the leases of its jobs alive; `None` when the session has expired.
    pub async fn heartbeat(
        &self,
        who: &Identity,
        request: Heartbeat,
    ) -> Result<Option<HeartbeatReply>, Refusal> {
        check::heartbeat(&request)?;
        let Some(credentials) = credentials(&request.session) else { return Ok(None) };
        let mut by_tenant = self.split_by_tenant(who, &request)?;
        let heartbeat = by_tenant.remove(&who.tenant).unwrap_or_default();
        let has_progress = !heartbeat.progress.is_empty();
        let pool = self.pool(who, &request.serves)?;
        let lost_pulls = check::lost_pulls(&request.lost_pull_ids)?;
        self.release_lost_pulls(&who.tenant, &credentials, &lost_pulls).await?;
        let Some(mut reply) = self.0.store.heartbeat(&who.tenant, &credentials, heartbeat).await? else {
            return Ok(None);
        };
        if has_progress {
            self.0.subscriptions.progressed(&who.tenant);
        }
        if let Some(pool) = &pool {
            self.release_lost_pulls_of_guests(who, &credentials, pool, &lost_pulls).await?;
        }
        if pool.is_some() || !by_tenant.is_empty() {
            for (tenant, _) in by_tenant.iter().filter(|(_, heartbeat)| !heartbeat.progress.is_empty()) {
                self.0.subscriptions.progressed(tenant);
            }
            for guest in self.guest_heartbeats(who, &credentials, by_tenant, pool.as_deref()).await? {
                reply.cancelled.extend(guest.cancelled);
                reply.lost.extend(guest.lost);
            }
        }
        // In the order and spelling of the node; a malformed id counts as lost.
        let lost = request
            .running_job_ids
            .iter()
            .filter(|id| id.parse().ok().is_none_or(|job: JobId| reply.lost.contains(&job)))
            .cloned()
            .collect();
        let cancelled = reply.cancelled.iter().map(ToString::to_string).collect();
        Ok(Some(HeartbeatReply { cancelled, lost }))
    }

    /// What a heartbeat says of the jobs of each tenant. Malformed ids are left out.
    fn split_by_tenant(
        &self,
        who: &Identity,
        request: &Heartbeat,
    ) -> Result<BTreeMap<TenantId, queue::Heartbeat>, Refusal> {
        let mut tenants = BTreeMap::new();
        for (job, name) in &request.job_tenants {
            tenants.insert(job, self.served_tenant(who, name)?);
        }
        let tenant_of = |job| tenants.get(job).unwrap_or(&who.tenant).clone();
        let mut by_tenant = BTreeMap::<TenantId, queue::Heartbeat>::new();
        for job in &request.running_job_ids {
            if let Ok(id) = job.parse() {
                by_tenant.entry(tenant_of(job)).or_default().running.push(id);
            }
        }
        for (job, attempt, progress) in &request.progress {
            if let Ok(id) = job.parse() {
                by_tenant.entry(tenant_of(job)).or_default().progress.push((id, *attempt, *progress));
            }
        }
        Ok(by_tenant)
    }
}

/// Parses the credentials of a session; `None` when the id is malformed.
pub(super) fn credentials(session: &NodeSession) -> Option<Credentials> {
    let session_id = session.node_id.parse().ok()?;
    Some(Credentials { session: session_id, token: SessionToken(session.token.0.clone()) })
}
