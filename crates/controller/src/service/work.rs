//! Work out, results back.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use vmafx_queue::clock::Timestamp;
use vmafx_queue::node::{self as queue, Credentials, Report};
use vmafx_queue::store::{Claim, Released, Reported};
use vmafx_queue::{Job, JobId, TenantId};

use super::answer::Work;
use super::request::{Pull, Release, ReportResult, Session};
use super::session::credentials;
use super::{Inner, Service, check};
use crate::dispatch::Place;
use crate::identity::Identity;
use crate::metrics::Requeued;
use crate::refusal::Refusal;

/// A job on its way to a node. Dropped before it is delivered, the job waits again at once.
pub struct Delivery {
    work: Option<Work>,
    tenant: TenantId,
    credentials: Credentials,
    inner: Arc<Inner>,
}

impl Delivery {
    /// The node gets it: from here on the lease says whose it is.
    pub fn deliver(mut self) -> Option<Work> {
        let work = self.work.take()?;
        self.inner.metrics.claimed(&work.job);
        Some(work)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        let (inner, tenant, credentials) =
            (self.inner.clone(), self.tenant.clone(), self.credentials.clone());
        self.inner.errands.begin(async move {
            let (job, attempt) = (work.job.id, work.job.attempt);
            let reason = "the node was gone before it got the job";
            match inner.store.release(&tenant, &credentials, job, attempt, reason).await {
                Ok(Released::Moved) => inner.metrics.requeued(Requeued::AssignRollback),
                Ok(Released::Over | Released::NoSession) => {}
                // The lease brings it back.
                Err(error) => {
                    tracing::warn!(%job, error = &error as &dyn std::error::Error, "cannot give the job back");
                }
            }
        });
    }
}

/// What a claim found.
enum Found {
    Job(Box<Delivery>),
    Nothing(Option<Timestamp>),
    NoSession,
}

impl Service {
    /// Hands out the first job that fits, waiting for one if asked to. `None`: there is none.
    pub async fn pull(&self, who: &Identity, request: Pull) -> Result<Option<Delivery>, Refusal> {
        let slots = check::pull(&request)?;
        let credentials = credentials(&request.session).ok_or_else(invalid_session)?;
        let mut backends = request.backends;
        backends.sort_unstable();
        backends.dedup();
        let backends: Arc<[String]> = backends.into();

        let wait = request.wait.min(self.0.patience.longest_pull);
        let place = if wait.is_zero() || self.0.shutdown.has_begun() {
            None
        } else {
            self.0.dispatch.enter(&who.tenant, &backends)
        };
        let Some(mut place) = place else {
            return Ok(match self.claim(who, &credentials, &backends).await? {
                Found::Job(delivery) => Some(*delivery),
                Found::Nothing(_) => None,
                Found::NoSession => return Err(invalid_session()),
            });
        };
        let until = Instant::now() + wait;
        let shutdown = self.0.shutdown.clone();
        tokio::select! {
            found = self.wait_for_work(who, &credentials, &backends, slots, &mut place) => found,
            () = sleep_until(until) => Ok(None),
            () = shutdown.begun() => Ok(None),
        }
    }

    /// Looks, and looks again whenever it is called. It is in line before each look, so that no call is missed.
    async fn wait_for_work(
        &self,
        who: &Identity,
        credentials: &Credentials,
        backends: &Arc<[String]>,
        slots: u32,
        place: &mut Place,
    ) -> Result<Option<Delivery>, Refusal> {
        loop {
            match self.claim(who, credentials, backends).await.inspect_err(|_| place.failed())? {
                Found::Job(delivery) => {
                    place.served();
                    return Ok(Some(*delivery));
                }
                // Known by now to be a session of this tenant, so that it counts against its own bound only.
                Found::Nothing(next) => place.stay(credentials.session, slots as usize, next),
                Found::NoSession => return Err(invalid_session()),
            }
            if !place.called().await {
                return Ok(None);
            }
        }
    }

    /// One look. It runs to its end even if the caller goes away meanwhile: a job found then is given back.
    async fn claim(
        &self,
        who: &Identity,
        credentials: &Credentials,
        backends: &Arc<[String]>,
    ) -> Result<Found, Refusal> {
        let (inner, tenant) = (self.0.clone(), who.tenant.clone());
        let (credentials, backends) = (credentials.clone(), backends.clone());
        let (tell, told) = oneshot::channel();
        self.0.errands.begin(async move {
            let found = match inner.store.claim(&tenant, &credentials, &backends).await {
                Ok(Claim::Job(job)) => Ok(Found::Job(Box::new(delivery(&inner, tenant, credentials, *job)))),
                Ok(Claim::Nothing { next }) => Ok(Found::Nothing(next)),
                Ok(Claim::NoSession) => Ok(Found::NoSession),
                Err(error) => Err(error.into()),
            };
            // A delivery that nobody hears of is dropped here, and gives its job back.
            let _ = tell.send(found);
        });
        told.await.unwrap_or(Err(Refusal::Internal))
    }

    /// Ends the attempt that a node holds. Repeating a report that was accepted is a success without effect.
    pub async fn report(&self, who: &Identity, request: ReportResult) -> Result<(), Refusal> {
        let result = check::report(&request)?;
        let credentials = credentials(&request.session).ok_or_else(invalid_session)?;
        // What is no id names no job, and the store knows none of this name.
        let job = request.job_id.parse().unwrap_or(JobId(uuid::Uuid::nil()));
        if !request.is_final {
            return self.may_report(who, &credentials, job, &request).await;
        }
        let attempt = (request.attempt != 0).then_some(request.attempt);
        match self.0.store.report(&who.tenant, &credentials, Report { job, attempt, result }).await? {
            Reported::NoSession => Err(invalid_session()),
            Reported::Fenced => Err(not_assigned(&request.job_id, &request.session)),
            Reported::Repeated => Ok(()),
            Reported::Moved { job, .. } => {
                self.ended(&job);
                Ok(())
            }
        }
    }

    /// A word in between is acknowledged if its end would be. It is a sign of life of the session, as any call.
    async fn may_report(
        &self,
        who: &Identity,
        credentials: &Credentials,
        job: JobId,
        request: &ReportResult,
    ) -> Result<(), Refusal> {
        let alive = self.0.store.heartbeat(&who.tenant, credentials, queue::Heartbeat::default()).await?;
        if alive.is_none() {
            return Err(invalid_session());
        }
        let attempts = self.0.store.attempts(&who.tenant, job).await?;
        match attempts.last() {
            Some(last) if last.session == credentials.session => Ok(()),
            _ => Err(not_assigned(&request.job_id, &request.session)),
        }
    }

    /// Gives an attempt back; `false` when it was over already.
    pub async fn release(&self, who: &Identity, request: Release) -> Result<bool, Refusal> {
        let reason = check::release(&request)?;
        let credentials = credentials(&request.session).ok_or_else(invalid_session)?;
        let job = request.job_id.parse().unwrap_or(JobId(uuid::Uuid::nil()));
        match self.0.store.release(&who.tenant, &credentials, job, request.attempt, &reason).await? {
            Released::NoSession => Err(invalid_session()),
            Released::Over => Ok(false),
            Released::Moved => Ok(true),
        }
    }
}

fn delivery(inner: &Arc<Inner>, tenant: TenantId, credentials: Credentials, job: Job) -> Delivery {
    let scoring_roots = inner.roots.of(&tenant);
    Delivery { work: Some(Work { job, scoring_roots }), tenant, credentials, inner: inner.clone() }
}

fn invalid_session() -> Refusal {
    Refusal::Denied("invalid session for node".to_owned())
}

fn not_assigned(job: &str, session: &Session) -> Refusal {
    let (job, node) = (check::shown(job), check::shown(&session.node_id));
    Refusal::Denied(format!("job {job:?} is not assigned to node {node:?}"))
}
