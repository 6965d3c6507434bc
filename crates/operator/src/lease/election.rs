//! Requests and retry delays of leader election.

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
use super::installation::{self, Installation};
use super::metrics::{LeadershipTurn, LeaseMetrics};
use super::permit::Permit;
use super::record::{self, LeaseStanding, ObservedLease};

/// Short, because a process that is being stopped has little time and the lease expires by itself.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// A candidate for leadership.
pub struct Election {
    api: Api<Lease>,
    settings: LeaseSettings,
    identity: String,
    permit: Permit,
    installation: Installation,
    metrics: LeaseMetrics,
    observed: Option<ObservedLease>,
    /// When the lease is lost unless it is renewed.
    until: Instant,
    /// Whether the record may contain our identity, so that it must be released.
    claimed: bool,
}

/// Why a leader no longer leads.
#[derive(Debug)]
enum LossReason {
    /// No renewal succeeded within the renew deadline.
    Expired(Duration),
    Taken(String),
    /// The record has no holder, or does not exist.
    Gone,
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired(deadline) => write!(f, "the lease could not be renewed within {deadline:?}"),
            Self::Taken(by) => write!(f, "the lease was taken by {by}"),
            Self::Gone => f.write_str("the lease was deleted, or released by another client"),
        }
    }
}

impl Election {
    /// `client` must not be gated by the permit of this election.
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
            installation: Installation::default(),
            metrics,
            observed: None,
            until: Instant::now(),
            claimed: false,
        }
    }

    /// Holds while this candidate leads.
    pub fn permit(&self) -> Permit {
        self.permit.clone()
    }

    /// The installation that this candidate continues while it leads.
    pub fn installation(&self) -> Installation {
        self.installation.clone()
    }

    /// Runs `work` while this candidate leads, until shutdown or until the work ends by itself.
    ///
    /// The shutdown of the work begins with that of the process; the lease is kept until the work has ended, and released
    /// then. When the lease is lost there is no time to end: the work is dropped, and starts again with the next lease.
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
            tracing::info!(lease = self.settings.name, identity = self.identity, "became the leader");
            self.metrics.changed(LeadershipTurn::Acquired);
            let child = shutdown.child();
            let mut running = Term { permit: self.permit(), work: Box::pin(work(child.clone())) };
            let reason = tokio::select! {
                biased;
                reason = self.keep() => reason,
                ended = &mut running.work => {
                    drop(running);
                    self.release().await;
                    return ended;
                }
            };
            self.permit.revoke();
            child.begin();
            drop(running);
            self.metrics.changed(LeadershipTurn::Lost);
            tracing::warn!(lease = self.settings.name, %reason, "lost the lease; all work is dropped");
        }
    }

    /// Tries until this candidate has the lease.
    async fn acquire(&mut self) {
        let (mut leader, mut failing) = (None, false);
        loop {
            // One read and one write.
            match timeout(self.request_timeout() * 2, self.try_to_acquire()).await {
                Ok(Ok(LeaseStanding::Held { by })) => {
                    failing = false;
                    if leader.as_ref() != Some(&by) {
                        tracing::info!(
                            lease = self.settings.name,
                            leader = by,
                            "another operator leads; waiting"
                        );
                        leader = Some(by);
                    }
                }
                Ok(Ok(_)) => return,
                Ok(Err(error)) if is_conflict(&error) => {
                    tracing::debug!("another operator took the lease first");
                }
                failure => {
                    if !failing {
                        self.warn(&failure, "cannot acquire the lease; trying again");
                    }
                    failing = true;
                }
            }
            sleep(self.poll_interval()).await;
        }
    }

    /// Renews the lease until it is lost.
    async fn keep(&mut self) -> LossReason {
        let mut next = Instant::now() + self.settings.retry_period;
        loop {
            sleep_until(next.min(self.until)).await;
            let now = Instant::now();
            if now >= self.until {
                return LossReason::Expired(self.settings.renew_deadline);
            }
            next = now + self.settings.retry_period;
            match timeout_at(self.until.min(now + self.request_timeout()), self.renew()).await {
                Ok(Ok(LeaseStanding::Ours)) => {}
                Ok(Ok(LeaseStanding::Held { by })) => return LossReason::Taken(by),
                Ok(Ok(LeaseStanding::Free)) => return LossReason::Gone,
                failure => self.warn(&failure, "cannot renew the lease; trying again"),
            }
        }
    }

    async fn try_to_acquire(&mut self) -> Result<LeaseStanding, kube::Error> {
        match self.read().await? {
            held @ LeaseStanding::Held { .. } => {
                self.claimed = false;
                Ok(held)
            }
            LeaseStanding::Ours | LeaseStanding::Free => self.claim().await,
        }
    }

    async fn renew(&mut self) -> Result<LeaseStanding, kube::Error> {
        // The record is most likely unchanged, which saves the read.
        match self.claim().await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            other => return other,
        }
        match self.read().await? {
            LeaseStanding::Ours => self.claim().await,
            other => Ok(other),
        }
    }

    async fn read(&mut self) -> Result<LeaseStanding, kube::Error> {
        let Some(lease) = self.api.get_opt(&self.settings.name).await? else {
            self.observed = None;
            return Ok(LeaseStanding::Free);
        };
        let now = Instant::now();
        let observed = ObservedLease::new(self.observed.take(), lease, now);
        let observed = self.observed.insert(observed);
        Ok(observed.standing(&self.identity, self.settings.lease_duration, now))
    }

    /// Writes our identity into the record, if it is unchanged since it was observed.
    async fn claim(&mut self) -> Result<LeaseStanding, kube::Error> {
        let mut lease = self.observed.as_ref().map_or_else(
            || Lease {
                metadata: ObjectMeta { name: Some(self.settings.name.clone()), ..ObjectMeta::default() },
                ..Lease::default()
            },
            |observed| observed.lease.clone(),
        );
        let (duration, now) = (self.settings.lease_duration, Timestamp::now());
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        let installation = match self.installation.get() {
            ours if holder == Some(self.identity.as_str()) && !ours.is_empty() => ours,
            _ => installation::continued(&lease, now),
        };
        installation::record(&mut lease, &installation);
        lease.spec = Some(record::claimed(lease.spec.as_ref(), &self.identity, duration, now));
        self.claimed = true;
        // The deadline counts from the request, not from its answer: other candidates count from a time in between.
        let sent = Instant::now();
        let stored = if self.observed.is_some() {
            self.api.replace(&self.settings.name, &params(), &lease).await?
        } else {
            self.api.create(&params(), &lease).await?
        };
        self.observed = Some(ObservedLease::new(self.observed.take(), stored, Instant::now()));
        self.installation.set(installation);
        self.until = sent + self.settings.renew_deadline;
        self.permit.hold_until(self.until);
        Ok(LeaseStanding::Ours)
    }

    /// Releases the lease, so that other candidates need not wait for it to expire.
    async fn release(&mut self) {
        self.permit.revoke();
        if !self.claimed {
            return;
        }
        match timeout(RELEASE_TIMEOUT, self.try_to_release()).await {
            Ok(Ok(true)) => {
                self.metrics.changed(LeadershipTurn::Released);
                tracing::info!(lease = self.settings.name, "lease released");
            }
            Ok(Ok(false)) => {}
            failure => self.warn(&failure, "cannot release the lease; it will expire"),
        }
    }

    /// `false`: the lease was not ours.
    async fn try_to_release(&mut self) -> Result<bool, kube::Error> {
        loop {
            // Read again, because a cancelled renewal may have been written.
            if self.read().await? != LeaseStanding::Ours {
                return Ok(false);
            }
            let Some(ObservedLease { mut lease, .. }) = self.observed.clone() else { return Ok(false) };
            lease.spec = lease.spec.as_ref().map(|spec| record::released(spec, Timestamp::now()));
            match self.api.replace(&self.settings.name, &params(), &lease).await {
                Err(error) if is_conflict(&error) => {}
                other => return other.map(|_| true),
            }
        }
    }

    /// Timeout of one request: half the deadline, so that one lost answer does not cost the lease.
    fn request_timeout(&self) -> Duration {
        self.settings.renew_deadline / 2
    }

    /// Poll interval while another candidate leads: about half the retry period, so that a released lease is taken within
    /// one period, with jitter, so that candidates do not poll together.
    fn poll_interval(&self) -> Duration {
        let percent = u32::try_from(Uuid::new_v4().as_u128() % 10).unwrap_or_default() + 40;
        self.settings.retry_period * percent / 100
    }

    fn warn<T>(&self, failure: &Result<Result<T, kube::Error>, tokio::time::error::Elapsed>, message: &str) {
        let lease = &self.settings.name;
        if let Ok(Err(error)) = failure {
            tracing::warn!(lease, error = error as &dyn std::error::Error, "{message}");
        } else {
            tracing::warn!(lease, error = "no answer", "{message}");
        }
    }
}

/// The work of one leadership term. However it is dropped, it writes nothing afterwards.
struct Term<F> {
    permit: Permit,
    work: Pin<Box<F>>,
}

impl<F> Drop for Term<F> {
    fn drop(&mut self) {
        self.permit.revoke();
    }
}

/// However the election ends, nothing is written with its permit afterwards.
impl Drop for Election {
    fn drop(&mut self) {
        self.permit.revoke();
        self.metrics.stopped();
    }
}

fn params() -> PostParams {
    PostParams { field_manager: Some(crate::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Whether another client wrote or created the record in between.
fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

#[cfg(test)]
mod tests;
