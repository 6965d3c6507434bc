//! Assignment of jobs to nodes, and the results of their attempts.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use vmafx_queue::clock::Timestamp;
use vmafx_queue::node::{self as queue, Credentials, Report};
use vmafx_queue::store::{Claim, Released, Reported};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, PullId, TenantId};

use super::pool::no_session;
use super::request::{NodeSession, PullWork, ReleaseJob, ReportResult};
use super::response::AssignedJob;
use super::session::credentials;
use super::{Inner, Service, check};
use crate::dispatch::{PullScope, WaitingPull};
use crate::freed_room::LimitedBy;
use crate::identity::Identity;
use crate::metrics::RequeueReason;
use crate::refusal::Refusal;

/// A claimed job on its way to the node. A delivery that is dropped before [`Delivery::deliver`] returns the job to the
/// queue at once.
pub struct Delivery {
    assigned: Option<AssignedJob>,
    tenant: TenantId,
    credentials: Credentials,
    inner: Arc<Inner>,
}

impl Delivery {
    /// From here on the job returns to the queue when its node names the pull as lost, or when the lease expires.
    pub fn deliver(mut self) -> Option<AssignedJob> {
        let assigned = self.assigned.take()?;
        self.inner.metrics.claimed(&assigned.job);
        Some(assigned)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let Some(assigned) = self.assigned.take() else { return };
        let (inner, tenant, credentials) =
            (self.inner.clone(), self.tenant.clone(), self.credentials.clone());
        self.inner.detached.spawn(async move {
            let (job, attempt) = (assigned.job.id, assigned.job.attempt);
            let reason = "the node disconnected before it received the job";
            match inner.store.release(&tenant, &credentials, job, attempt, reason).await {
                Ok(Released::Moved) => inner.metrics.requeued(RequeueReason::AssignRollback),
                Ok(Released::Over | Released::NoSession) => {}
                // The job returns when its lease expires.
                Err(error) => {
                    tracing::warn!(%job, error = &error as &dyn std::error::Error, "cannot release a job that was not delivered");
                }
            }
        });
    }
}

/// A session that claims, and the pull for which it does.
#[derive(Clone)]
pub(super) struct Claimant {
    pub(super) credentials: Credentials,
    pub(super) pull: Option<PullId>,
}

pub(super) enum ClaimOutcome {
    Job(Box<Delivery>),
    /// With the end of the next back-off that is worth waiting for.
    Nothing(Option<Timestamp>),
    /// There are jobs for other nodes; with the time when one may go to this node.
    PassedOver(Timestamp),
    /// With the end of the pause.
    Quarantined(Timestamp),
    AtLimit(LimitedBy),
    NoSession,
}

enum WaitEnd {
    Job(Box<Delivery>),
    /// The session has too many waiting pulls.
    Evicted,
    Quarantined(Timestamp),
    AtLimit(LimitedBy),
}

impl Service {
    /// Assigns the first job that fits, waiting for one if requested. `None`: there is no job.
    pub async fn pull(&self, who: &Identity, request: PullWork) -> Result<Option<Delivery>, Refusal> {
        let (slots, pull_id) = check::pull(&request)?;
        let lost = check::lost_pulls(&request.lost_pull_ids)?;
        let credentials = credentials(&request.session).ok_or_else(invalid_session)?;
        let scope = self.scope(who, &request.serves)?;
        self.release_lost_pulls(&who.tenant, &credentials, &lost).await?;
        if let PullScope::Shared(pool) = &scope {
            self.release_lost_pulls_of_guests(who, &credentials, pool, &lost).await?;
        }
        let claimant = Claimant { credentials, pull: pull_id };
        let mut backends = request.backends;
        backends.sort_unstable();
        backends.dedup();
        let backends: Arc<[String]> = backends.into();

        let wait = request.wait.min(self.0.limits.max_pull_wait);
        if wait.is_zero() || self.0.shutdown.has_begun() {
            return self.claim_once(who, &claimant, &scope, &backends).await;
        }
        let until = Instant::now() + wait;
        let shutdown = self.0.shutdown.clone();
        tokio::select! {
            found = self.wait_until_admitted(who, &claimant, &scope, &backends, slots) => found,
            () = sleep_until(until) => Ok(None),
            () = shutdown.begun() => Ok(None),
        }
    }

    async fn claim_once(
        &self,
        who: &Identity,
        claimant: &Claimant,
        scope: &PullScope,
        backends: &Arc<[String]>,
    ) -> Result<Option<Delivery>, Refusal> {
        match self.claim_in(who, claimant, scope, backends).await? {
            ClaimOutcome::Job(delivery) => Ok(Some(*delivery)),
            ClaimOutcome::Nothing(_)
            | ClaimOutcome::PassedOver(_)
            | ClaimOutcome::Quarantined(_)
            | ClaimOutcome::AtLimit(_) => Ok(None),
            ClaimOutcome::NoSession => Err(invalid_session()),
        }
    }

    /// Waits for work. While the node is quarantined or at a limit, its pull is not queued, so that it takes no wake-up from
    /// another.
    async fn wait_until_admitted(
        &self,
        who: &Identity,
        claimant: &Claimant,
        scope: &PullScope,
        backends: &Arc<[String]>,
        slots: u32,
    ) -> Result<Option<Delivery>, Refusal> {
        loop {
            let Some(mut pull) = self.0.dispatch.enqueue(scope, backends) else {
                return self.claim_once(who, claimant, scope, backends).await;
            };
            match self.wait_for_work(who, claimant, (scope, backends), slots, &mut pull).await? {
                WaitEnd::Job(delivery) => return Ok(Some(*delivery)),
                WaitEnd::Evicted => return Ok(None),
                WaitEnd::Quarantined(until) => {
                    drop(pull);
                    self.0.dispatch.sleep_until(until).await;
                }
                WaitEnd::AtLimit(limited_by) => {
                    drop(pull);
                    self.0.freed_room.wait(limited_by).await;
                }
            }
        }
    }

    /// Claims, and claims again after each wake-up. The pull is queued before each claim, so that no wake-up is missed.
    async fn wait_for_work(
        &self,
        who: &Identity,
        claimant: &Claimant,
        (scope, backends): (&PullScope, &Arc<[String]>),
        slots: u32,
        pull: &mut WaitingPull,
    ) -> Result<WaitEnd, Refusal> {
        loop {
            let outcome = self.claim_in(who, claimant, scope, backends).await;
            match outcome.inspect_err(|_| pull.claim_failed())? {
                ClaimOutcome::Job(delivery) => {
                    pull.claimed_job(&delivery.tenant);
                    return Ok(WaitEnd::Job(delivery));
                }
                // The claim has authenticated the session, so that the pull counts against the limit of its own session only.
                ClaimOutcome::Nothing(next) => {
                    pull.found_nothing(claimant.credentials.session, slots as usize, next);
                }
                ClaimOutcome::PassedOver(next) => {
                    pull.passed_over(claimant.credentials.session, slots as usize, next);
                }
                // The pull is dropped with its wake-up, which goes to the next one.
                ClaimOutcome::Quarantined(until) => return Ok(WaitEnd::Quarantined(until)),
                ClaimOutcome::AtLimit(limited_by) => return Ok(WaitEnd::AtLimit(limited_by)),
                ClaimOutcome::NoSession => return Err(invalid_session()),
            }
            if !pull.woken().await {
                return Ok(WaitEnd::Evicted);
            }
        }
    }

    async fn claim_in(
        &self,
        who: &Identity,
        claimant: &Claimant,
        scope: &PullScope,
        backends: &Arc<[String]>,
    ) -> Result<ClaimOutcome, Refusal> {
        match scope {
            PullScope::Own(tenant) => self.claim(who, tenant.clone(), claimant, backends).await,
            PullScope::Shared(pool) => self.claim_in_pool(who, claimant, pool, backends).await,
        }
    }

    /// Claims a job of one tenant. The claim completes even if the caller goes away meanwhile, and its job then returns to
    /// the queue.
    pub(super) async fn claim(
        &self,
        who: &Identity,
        tenant: TenantId,
        claimant: &Claimant,
        backends: &Arc<[String]>,
    ) -> Result<ClaimOutcome, Refusal> {
        let (inner, is_guest) = (self.0.clone(), tenant != who.tenant);
        let (Claimant { credentials, pull }, backends) = (claimant.clone(), backends.clone());
        let limits = self.limits_of(&tenant);
        let (sender, receiver) = oneshot::channel();
        self.0.detached.spawn(async move {
            let outcome = match inner.store.claim(&tenant, &credentials, &backends, pull, &limits).await {
                Ok(Claim::Job(job)) => {
                    Ok(ClaimOutcome::Job(Box::new(delivery(&inner, tenant, credentials, *job, is_guest))))
                }
                Ok(Claim::Nothing { next }) => Ok(ClaimOutcome::Nothing(next)),
                Ok(Claim::PassedOver { next }) => Ok(ClaimOutcome::PassedOver(next)),
                Ok(Claim::Quarantined { until }) => Ok(ClaimOutcome::Quarantined(until)),
                Ok(Claim::NoFreeSlot) => Ok(ClaimOutcome::AtLimit(LimitedBy::Session(credentials.session))),
                Ok(Claim::LimitReached) => Ok(ClaimOutcome::AtLimit(LimitedBy::Tenant(tenant))),
                Ok(Claim::NoSession) => Ok(ClaimOutcome::NoSession),
                Err(error) => Err(error.into()),
            };
            // Without a receiver the delivery is dropped here, which returns its job to the queue.
            let _ = sender.send(outcome);
        });
        receiver.await.unwrap_or(Err(Refusal::Internal))
    }

    /// Returns to the queue what these pulls claimed: their node never received it.
    pub(super) async fn release_lost_pulls(
        &self,
        tenant: &TenantId,
        credentials: &Credentials,
        lost: &[PullId],
    ) -> Result<(), Refusal> {
        if lost.is_empty() {
            return Ok(());
        }
        let released = self.0.store.release_pulls(tenant, credentials, lost).await?;
        for _ in 0..released {
            self.0.metrics.requeued(RequeueReason::AssignRollback);
        }
        if released > 0 {
            self.freed(tenant, credentials);
            tracing::info!(%tenant, session = %credentials.session, released, "requeued jobs that their node did not receive");
        }
        Ok(())
    }

    /// Finishes the attempt that a node holds. Repeating an accepted report succeeds without effect.
    pub async fn report(&self, who: &Identity, request: ReportResult) -> Result<(), Refusal> {
        let result = check::report(&request)?;
        let own = credentials(&request.session).ok_or_else(invalid_session)?;
        let (tenant, credentials) = self.acts_for(who, own, &request.tenant)?;
        // A malformed id becomes the nil id, which no job has.
        let job = request.job_id.parse().unwrap_or(JobId(uuid::Uuid::nil()));
        if !request.is_final {
            return self.acknowledge(who, (&tenant, &credentials), job, &request).await;
        }
        let attempt = (request.attempt != 0).then_some(request.attempt);
        match self.0.store.report(&tenant, &credentials, Report { job, attempt, result }).await? {
            Reported::NoSession => Err(no_session(who, &tenant)),
            Reported::Fenced => Err(not_assigned(&request.job_id, &request.session)),
            Reported::Repeated => Ok(()),
            Reported::Moved { job, .. } => {
                if job.state == State::Pending {
                    self.requeued(&job);
                } else {
                    self.ended(&job);
                }
                self.freed(&tenant, &credentials);
                Ok(())
            }
        }
    }

    /// Counts and announces a job whose attempt failed through no fault of its own.
    fn requeued(&self, job: &Job) {
        self.0.metrics.requeued(RequeueReason::AttemptFailed);
        if let Some(failure) = &job.last_failure {
            let (attempt, lost) = (failure.attempt, job.lost_attempts);
            tracing::info!(job = %job.id, tenant = %job.tenant, node = failure.node, attempt, lost,
                reason = %failure.reason, error = failure.message, "requeued the job of a failed attempt");
        }
        if let Some(at) = job.available_at {
            self.0.dispatch.wake_at(&job.tenant, job.scoring.backend_name(), at);
        }
    }

    /// Accepts a report that is not final if a final one would be accepted. Like every call, it keeps the session alive.
    async fn acknowledge(
        &self,
        who: &Identity,
        (tenant, credentials): (&TenantId, &Credentials),
        job: JobId,
        request: &ReportResult,
    ) -> Result<(), Refusal> {
        let alive = self.0.store.heartbeat(tenant, credentials, queue::Heartbeat::default()).await?;
        if alive.is_none() {
            return Err(no_session(who, tenant));
        }
        let attempts = self.0.store.attempts(tenant, job).await?;
        match attempts.last() {
            Some(last) if last.session == credentials.session => Ok(()),
            _ => Err(not_assigned(&request.job_id, &request.session)),
        }
    }

    /// Returns an attempt to the queue; `false` when it was finished already.
    pub async fn release(&self, who: &Identity, request: ReleaseJob) -> Result<bool, Refusal> {
        let reason = check::release(&request)?;
        let own = credentials(&request.session).ok_or_else(invalid_session)?;
        let (tenant, credentials) = self.acts_for(who, own, &request.tenant)?;
        let job = request.job_id.parse().unwrap_or(JobId(uuid::Uuid::nil()));
        match self.0.store.release(&tenant, &credentials, job, request.attempt, &reason).await? {
            Released::NoSession => Err(no_session(who, &tenant)),
            Released::Over => Ok(false),
            Released::Moved => {
                self.freed(&tenant, &credentials);
                Ok(true)
            }
        }
    }

    /// Wakes a pull that waits for a running job of the tenant to end.
    pub(super) fn freed_tenant(&self, tenant: &TenantId) {
        self.0.freed_room.freed(&LimitedBy::Tenant(tenant.clone()));
        self.0.dispatch.freed(tenant);
    }

    /// Wakes a pull that waits for a slot of this session, and one that waits for a running job of the tenant to end.
    pub(super) fn freed(&self, tenant: &TenantId, credentials: &Credentials) {
        self.0.freed_room.freed(&LimitedBy::Session(credentials.session));
        self.freed_tenant(tenant);
    }
}

fn delivery(
    inner: &Arc<Inner>,
    tenant: TenantId,
    credentials: Credentials,
    job: Job,
    is_guest: bool,
) -> Delivery {
    let (scoring_roots, report_roots) = (inner.roots.of(&tenant), inner.roots.of_reports(&tenant));
    let assigned = Some(AssignedJob { job, scoring_roots, report_roots, is_guest });
    Delivery { assigned, tenant, credentials, inner: inner.clone() }
}

pub(super) fn invalid_session() -> Refusal {
    Refusal::Denied("invalid session for node".to_owned())
}

fn not_assigned(job: &str, session: &NodeSession) -> Refusal {
    let (job, node) = (check::abbreviated(job), check::abbreviated(&session.node_id));
    Refusal::Denied(format!("job {job:?} is not assigned to node {node:?}"))
}
