//! What a node of a shared pool does for another tenant than its own.
//!
//! A node registers once, with the tenant of its token. For the jobs of another tenant it has a session in that tenant, whose
//! credentials every controller derives from those of the node ([`Credentials::for_tenant`]). Each query therefore still sees
//! one tenant, and a call that names a tenant is permitted if
//!
//! * the administrator permits the node's own tenant to serve it ([`super::Sharing::guests`]), checked with every call;
//! * the session in that tenant exists. It is opened by a pull or heartbeat that asks to serve the tenant and whose own
//!   session is authenticated first, so that derived credentials prove that session.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt as _;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::node::{Capability, Credentials, Heartbeat, HeartbeatReply, NewNode};
use vmafx_queue::store::Released;
use vmafx_queue::{JobId, PullId, TenantId};

use super::sharing::{Pool, TenantSet};
use super::work::{ClaimOutcome, Claimant, invalid_session};
use super::{Service, check};
use crate::dispatch::PullScope;
use crate::freed_room::{LimitedBy, RECHECK_INTERVAL};
use crate::identity::Identity;
use crate::refusal::Refusal;

/// Tenants with pending jobs in which a heartbeat keeps the session of its node; a claim opens the others.
const MAX_KEPT_SESSIONS: usize = 64;
const CONCURRENT_CALLS: usize = 8;

/// Why an attempt was released.
const NOT_IN_FORCE: &str = "the tenant is suspended, invalid or deleted";

impl Service {
    /// The tenants whose jobs a pull may claim: those that the node asks for and the administrator permits.
    pub(super) fn scope(&self, who: &Identity, serves: &[String]) -> Result<PullScope, Refusal> {
        let pool = self.pool(who, serves)?;
        Ok(pool.map_or_else(|| PullScope::Own(who.tenant.clone()), PullScope::Shared))
    }

    /// `None` if the node serves its own tenant only.
    pub(super) fn pool(&self, who: &Identity, serves: &[String]) -> Result<Option<Arc<Pool>>, Refusal> {
        if serves.is_empty() {
            return Ok(None);
        }
        let mut guests = check::serves(serves)?.intersection(self.0.sharing.guests(&who.tenant));
        if let TenantSet::Only(tenants) = &mut guests {
            tenants.remove(&who.tenant);
        }
        Ok((!guests.is_empty()).then(|| Arc::new(Pool { home: who.tenant.clone(), guests })))
    }

    /// The tenant that a call of a node names, empty for its own, and the node's credentials there.
    pub(super) fn acts_for(
        &self,
        who: &Identity,
        own: Credentials,
        tenant: &str,
    ) -> Result<(TenantId, Credentials), Refusal> {
        let tenant = self.served_tenant(who, tenant)?;
        let credentials = if tenant == who.tenant { own } else { own.for_tenant(&tenant) };
        Ok((tenant, credentials))
    }

    /// The tenant that a call of a node names, if the administrator permits it.
    pub(super) fn served_tenant(&self, who: &Identity, tenant: &str) -> Result<TenantId, Refusal> {
        if tenant.is_empty() || tenant == who.tenant.as_str() {
            return Ok(who.tenant.clone());
        }
        let guests = self.0.sharing.guests(&who.tenant);
        let permitted = TenantId::new(tenant).ok().filter(|named| guests.contains(named));
        permitted.ok_or_else(|| may_not_serve(&who.tenant, tenant))
    }

    /// Claims for the tenants of a pool in the order of their fair share, for each once.
    pub(super) async fn claim_in_pool(
        &self,
        who: &Identity,
        claimant: &Claimant,
        pool: &Arc<Pool>,
        backends: &Arc<[String]>,
    ) -> Result<ClaimOutcome, Refusal> {
        let mut round = self.0.dispatch.round(pool, backends);
        let mut vain = VainClaims::default();
        // The claim for the own tenant comes last if nothing is known of any work: it authenticates the session.
        while let Some(turn) = round.next_turn().or_else(|| round.turn_of(&who.tenant)) {
            let Some(tenant) = turn.tenant().cloned() else { break };
            match self.claim_for(who, claimant, tenant, backends).await? {
                ClaimOutcome::Job(delivery) => {
                    turn.claimed();
                    return Ok(ClaimOutcome::Job(delivery));
                }
                ClaimOutcome::Nothing(next) => {
                    turn.found_nothing(next);
                    vain.next = earlier(vain.next, next);
                }
                // Other nodes of the pool may get these jobs, so the tenant keeps its place.
                ClaimOutcome::PassedOver(next) | ClaimOutcome::Quarantined(next) => {
                    vain.kept = earlier(vain.kept, Some(next));
                }
                ClaimOutcome::AtLimit(limited_by) => {
                    let recheck = Some(self.0.clock.now() + RECHECK_INTERVAL);
                    match limited_by {
                        // Other nodes of the pool may have slots for these jobs.
                        LimitedBy::Session(_) => vain.kept = earlier(vain.kept, recheck),
                        LimitedBy::Tenant(_) => {
                            turn.reached_limit(recheck);
                            vain.next = earlier(vain.next, recheck);
                        }
                    }
                }
                ClaimOutcome::NoSession => return Ok(ClaimOutcome::NoSession),
            }
        }
        Ok(vain.outcome())
    }

    /// Claims a job of one tenant of a pool, and opens the session there if there is none.
    async fn claim_for(
        &self,
        who: &Identity,
        claimant: &Claimant,
        tenant: TenantId,
        backends: &Arc<[String]>,
    ) -> Result<ClaimOutcome, Refusal> {
        if tenant == who.tenant {
            return self.claim(who, tenant, claimant, backends).await;
        }
        let guest = Claimant { credentials: claimant.credentials.for_tenant(&tenant), pull: claimant.pull };
        match self.claim(who, tenant.clone(), &guest, backends).await? {
            ClaimOutcome::NoSession
                if self.open_guest_session(who, &claimant.credentials, &tenant).await? =>
            {
                self.claim(who, tenant, &guest, backends).await
            }
            outcome => Ok(outcome),
        }
    }

    /// Opens the session of a node in another tenant; `false` if the node's own session is over.
    async fn open_guest_session(
        &self,
        who: &Identity,
        own: &Credentials,
        tenant: &TenantId,
    ) -> Result<bool, Refusal> {
        if self.0.store.heartbeat(&who.tenant, own, Heartbeat::default()).await?.is_none() {
            return Ok(false);
        }
        let nodes = self.0.store.nodes(&who.tenant).await?;
        let Some(node) = nodes.into_iter().find(|node| node.session == own.session) else { return Ok(false) };
        let guest = NewNode {
            // Apart from the nodes of the tenant itself, whose failures are counted by name.
            name: format!("{}/{}", who.tenant, node.name),
            capability: Capability { shared: true, ..node.capability },
            // The status of the VmafxNode counts the node once, in its own tenant.
            resource: None,
        };
        self.0.store.register_as(tenant, guest, &own.for_tenant(tenant)).await?;
        tracing::info!(home = %who.tenant, %tenant, node = node.name, "a shared node serves a tenant");
        Ok(true)
    }

    /// Sends the heartbeats of a node in the tenants whose jobs it runs, and keeps its sessions in those with pending jobs.
    /// Returns the replies; a tenant in which there is no session has none.
    pub(super) async fn guest_heartbeats(
        &self,
        who: &Identity,
        own: &Credentials,
        mut running: BTreeMap<TenantId, Heartbeat>,
        pool: Option<&Pool>,
    ) -> Result<Vec<HeartbeatReply>, Refusal> {
        if let Some(pool) = pool {
            let pending = self.0.dispatch.pending_tenants(pool);
            for tenant in pending.into_iter().filter(|tenant| *tenant != who.tenant).take(MAX_KEPT_SESSIONS) {
                running.entry(tenant).or_default();
            }
        }
        let calls = running.into_iter().map(|(tenant, heartbeat)| async move {
            if !self.0.tenancy.is_in_force(&tenant) {
                return self.return_jobs(&tenant, &own.for_tenant(&tenant), heartbeat.running).await;
            }
            let named = heartbeat.running.clone();
            let reply = self.0.store.heartbeat(&tenant, &own.for_tenant(&tenant), heartbeat).await?;
            if reply.is_none() && named.is_empty() && pool.is_some_and(|pool| pool.serves(&tenant)) {
                self.open_guest_session(who, own, &tenant).await?;
            }
            Ok(reply.unwrap_or(HeartbeatReply { cancelled: Vec::new(), lost: named }))
        });
        let replies = futures::stream::iter(calls).buffer_unordered(CONCURRENT_CALLS);
        replies.collect::<Vec<Result<_, Refusal>>>().await.into_iter().collect()
    }

    /// Returns the running jobs of a tenant that is suspended to its queue. Their node stops them, because they are lost to it.
    async fn return_jobs(
        &self,
        tenant: &TenantId,
        guest: &Credentials,
        running: Vec<JobId>,
    ) -> Result<HeartbeatReply, Refusal> {
        for id in &running {
            let Some(job) = self.0.store.job(tenant, *id).await? else { continue };
            let released = self.0.store.release(tenant, guest, *id, job.attempt, NOT_IN_FORCE).await?;
            if let Released::Moved = released {
                tracing::info!(%tenant, job = %id, "requeued a job of a tenant that is not in force");
                self.freed(tenant, guest);
            }
        }
        Ok(HeartbeatReply { cancelled: Vec::new(), lost: running })
    }

    /// Returns what lost pulls of a pool claimed. The node does not know for which tenant they did.
    pub(super) async fn release_lost_pulls_of_guests(
        &self,
        who: &Identity,
        own: &Credentials,
        pool: &Pool,
        lost: &[PullId],
    ) -> Result<(), Refusal> {
        if lost.is_empty() {
            return Ok(());
        }
        for tenant in self.0.dispatch.unfinished_tenants(pool) {
            if tenant != who.tenant {
                self.release_lost_pulls(&tenant, &own.for_tenant(&tenant), lost).await?;
            }
        }
        Ok(())
    }
}

/// Claims of one round that found no job for this node.
#[derive(Default)]
struct VainClaims {
    next: Option<Timestamp>,
    /// When the first of the jobs that are kept from this node may go to it.
    kept: Option<Timestamp>,
}

impl VainClaims {
    fn outcome(self) -> ClaimOutcome {
        match self.kept {
            Some(kept) => ClaimOutcome::PassedOver(self.next.map_or(kept, |next| next.min(kept))),
            None => ClaimOutcome::Nothing(self.next),
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// The same text whether or not the tenant exists.
fn may_not_serve(home: &TenantId, tenant: &str) -> Refusal {
    let tenant = check::abbreviated(tenant);
    Refusal::Denied(format!("nodes of {:?} may not serve {tenant:?}", home.as_str()))
}

/// A call in a tenant in which the node has no session.
pub(super) fn no_session(who: &Identity, tenant: &TenantId) -> Refusal {
    if *tenant == who.tenant { invalid_session() } else { may_not_serve(&who.tenant, tenant.as_str()) }
}
