//! The requests and the pauses of an election.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use uuid::Uuid;
use vmafx_kit::tasks::Shutdown;

use super::args::LeaseSettings;
use super::metrics::{LeadershipTurn, LeaseMetrics};
use super::permit::Permit;
use super::record::{self, LeaseStanding, ObservedLease};

/// Time to give the lease back. Whoever is stopped has little, and the lease expires by itself.
const RELEASE: Duration = Duration::from_secs(2);

/// One who wants to lead.
pub struct Election {
    api: Api<Lease>,
    settings: LeaseSettings,
    identity: String,
    permit: Permit,
    metrics: LeaseMetrics,
    observed: Option<ObservedLease>,
    /// When the lease is lost unless it is renewed.
    until: Instant,
    /// Whether the record may name us, so that there is something to give back.
    claimed: bool,
}

/// Why a leader no longer leads.
#[derive(Debug)]
enum Lost {
    /// No renewal succeeded in time.
    Expired(Duration),
    /// The record names somebody else.
    Taken(String),
    /// The record names nobody, or there is none.
    Gone,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired(deadline) => write!(f, "the lease could not be renewed within {deadline:?}"),
            Self::Taken(by) => write!(f, "the lease was taken by {by}"),
            Self::Gone => f.write_str("the lease was taken away"),
        }
    }
}

impl Election {
    /// `client` must not ask for the permit that this election gives.
    pub fn new(
        client: kube::Client,
        namespace: &str,
        settings: LeaseSettings,
        identity: String,
        metrics: LeaseMetrics,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            settings,
            identity,
            permit: Permit::never(),
            metrics,
            observed: None,
            until: Instant::now(),
            claimed: false,
        }
    }

    /// Holds while this election is won.
    pub fn permit(&self) -> Permit {
        self.permit.clone()
    }

    /// Runs `work` whenever this process leads, and only then, until shutdown or until the work ends by itself.
    ///
    /// The work's own shutdown begins with ours; the lease is kept until the work has ended and given back then. When the
    /// lease is lost there is no time to end: the work is told and dropped, and begins anew when the lease is won again.
    pub async fn lead<W, F, E>(mut self, shutdown: Shutdown, mut work: W) -> Result<(), E>
    where
        W: FnMut(Shutdown) -> F,
        F: Future<Output = Result<(), E>>,
    {
        loop {
            if shutdown.run_until_begun(self.acquire()).await.is_none() {
                self.release().await;
                return Ok(());
            }
            tracing::info!(lease = self.settings.name, identity = self.identity, "leading");
            self.metrics.turned(LeadershipTurn::Acquired);
            let child = shutdown.child();
            let mut running = Term { permit: self.permit(), work: Box::pin(work(child.clone())) };
            let lost = tokio::select! {
                biased;
                lost = self.keep() => lost,
                ended = &mut running.work => {
                    drop(running);
                    self.release().await;
                    return ended;
                }
            };
            self.permit.revoke();
            child.begin();
            drop(running);
            self.metrics.turned(LeadershipTurn::Lost);
            tracing::warn!(lease = self.settings.name, reason = %lost, "no longer leading; all work is dropped");
        }
    }

    /// Tries until it succeeds.
    async fn acquire(&mut self) {
        let (mut leader, mut failing) = (None, false);
        loop {
            // A look and a claim.
            match timeout(self.patience() * 2, self.try_to_acquire()).await {
                Ok(Ok(LeaseStanding::Held { by })) => {
                    failing = false;
                    if leader.as_ref() != Some(&by) {
                        tracing::info!(
                            lease = self.settings.name,
                            leader = by,
                            "waiting: another operator leads"
                        );
                        leader = Some(by);
                    }
                }
                Ok(Ok(_)) => return,
                Ok(Err(error)) if was_faster(&error) => tracing::debug!("another operator was faster"),
                failure => {
                    if !failing {
                        self.complain(&failure, "cannot ask for the lease; trying again");
                    }
                    failing = true;
                }
            }
            sleep(self.pause()).await;
        }
    }

    /// Renews for as long as it can.
    async fn keep(&mut self) -> Lost {
        let mut next = Instant::now() + self.settings.retry_period;
        loop {
            sleep_until(next.min(self.until)).await;
            let now = Instant::now();
            if now >= self.until {
                return Lost::Expired(self.settings.renew_deadline);
            }
            next = now + self.settings.retry_period;
            match timeout_at(self.until.min(now + self.patience()), self.renew()).await {
                Ok(Ok(LeaseStanding::Ours)) => {}
                Ok(Ok(LeaseStanding::Held { by })) => return Lost::Taken(by),
                Ok(Ok(LeaseStanding::Free)) => return Lost::Gone,
                failure => self.complain(&failure, "cannot renew the lease; trying again"),
            }
        }
    }

    async fn try_to_acquire(&mut self) -> Result<LeaseStanding, kube::Error> {
        match self.look().await? {
            held @ LeaseStanding::Held { .. } => {
                self.claimed = false;
                Ok(held)
            }
            LeaseStanding::Ours | LeaseStanding::Free => self.claim().await,
        }
    }

    async fn renew(&mut self) -> Result<LeaseStanding, kube::Error> {
        // The record is most likely as we left it: one request instead of two.
        match self.claim().await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            other => return other,
        }
        match self.look().await? {
            LeaseStanding::Ours => self.claim().await,
            other => Ok(other),
        }
    }

    /// Reads the record.
    async fn look(&mut self) -> Result<LeaseStanding, kube::Error> {
        let Some(lease) = self.api.get_opt(&self.settings.name).await? else {
            self.observed = None;
            return Ok(LeaseStanding::Free);
        };
        let now = Instant::now();
        let seen = ObservedLease::see(self.observed.take(), lease, now);
        let seen = self.observed.insert(seen);
        Ok(seen.standing(&self.identity, self.settings.lease_duration, now))
    }

    /// Writes our name over the record that was last seen, if it is still that one.
    async fn claim(&mut self) -> Result<LeaseStanding, kube::Error> {
        let mut lease = self.observed.as_ref().map_or_else(
            || Lease {
                metadata: ObjectMeta { name: Some(self.settings.name.clone()), ..ObjectMeta::default() },
                ..Lease::default()
            },
            |seen| seen.lease.clone(),
        );
        let duration = self.settings.lease_duration;
        lease.spec = Some(record::claimed(lease.spec.as_ref(), &self.identity, duration, Timestamp::now()));
        self.claimed = true;
        // From here, not from the answer: the others count from a moment in between.
        let sent = Instant::now();
        let stored = if self.observed.is_some() {
            self.api.replace(&self.settings.name, &params(), &lease).await?
        } else {
            self.api.create(&params(), &lease).await?
        };
        self.observed = Some(ObservedLease::see(self.observed.take(), stored, Instant::now()));
        self.until = sent + self.settings.renew_deadline;
        self.permit.hold_until(self.until);
        Ok(LeaseStanding::Ours)
    }

    /// Gives the lease back, so that nobody has to wait for it to expire.
    async fn release(&mut self) {
        self.permit.revoke();
        if !self.claimed {
            return;
        }
        match timeout(RELEASE, self.give_back()).await {
            Ok(Ok(true)) => {
                self.metrics.turned(LeadershipTurn::Released);
                tracing::info!(lease = self.settings.name, "lease released");
            }
            Ok(Ok(false)) => {}
            failure => self.complain(&failure, "cannot release the lease; it will expire"),
        }
    }

    /// Whether there was something to give back.
    async fn give_back(&mut self) -> Result<bool, kube::Error> {
        loop {
            // Read anew: a renewal that nobody waited for may have been written.
            if self.look().await? != LeaseStanding::Ours {
                return Ok(false);
            }
            let Some(ObservedLease { mut lease, .. }) = self.observed.clone() else { return Ok(false) };
            lease.spec = lease.spec.as_ref().map(|spec| record::released(spec, Timestamp::now()));
            match self.api.replace(&self.settings.name, &params(), &lease).await {
                Err(error) if was_faster(&error) => {}
                other => return other.map(|_| true),
            }
        }
    }

    /// Longest wait for one answer: a single lost one must not cost the lease.
    fn patience(&self) -> Duration {
        self.settings.renew_deadline / 2
    }

    /// Until the next look at somebody else's lease: about half the retry period, so that a released one is taken within
    /// a whole one, and a little different each time, so that those who wait together do not ask together.
    fn pause(&self) -> Duration {
        let percent = u32::try_from(Uuid::new_v4().as_u128() % 10).unwrap_or_default() + 40;
        self.settings.retry_period * percent / 100
    }

    fn complain<T>(&self, failure: &Result<Result<T, kube::Error>, tokio::time::error::Elapsed>, what: &str) {
        let lease = &self.settings.name;
        if let Ok(Err(error)) = failure {
            tracing::warn!(lease, error = error as &dyn std::error::Error, "{what}");
        } else {
            tracing::warn!(lease, error = "no answer", "{what}");
        }
    }
}

/// The work of one term. However it is dropped, nothing is written by it afterwards.
struct Term<F> {
    permit: Permit,
    work: Pin<Box<F>>,
}

impl<F> Drop for Term<F> {
    fn drop(&mut self) {
        self.permit.revoke();
    }
}

/// However the election ends, nobody writes by it afterwards.
impl Drop for Election {
    fn drop(&mut self) {
        self.permit.revoke();
        self.metrics.over();
    }
}

fn params() -> PostParams {
    PostParams { field_manager: Some(crate::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Whether somebody wrote, or made, the record in between.
fn was_faster(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

#[cfg(test)]
mod tests;
