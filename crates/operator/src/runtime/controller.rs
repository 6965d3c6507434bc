//! Takes keys and reconciles them, some at a time.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tracing::Instrument as _;
use vmafx_api::conditions::Reason;
use vmafx_kit::metrics::{By, Label as _};
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::backoff::Backoff;
use super::metrics::{ReasonLabel, ReconcileOutcome, RuntimeMetrics, WatchedKind};
use super::queue::WorkQueue;
use crate::error::Retry;
use crate::key::ObjectKey;

/// A reconcile that takes longer has lost its way.
const DEADLINE: Duration = Duration::from_mins(1);

/// Makes one resource as it should be.
pub trait Reconcile: Send + Sync + 'static {
    /// Of what kind.
    const KIND: WatchedKind;

    /// Looks at the resource and does what is to be done. `Ok(None)`: there is no such resource any more.
    fn reconcile(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<RequeueAfter>, ReconcileError>> + Send;
}

/// When to look again, if nothing happens before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequeueAfter(pub Duration);

/// A reconcile that did not reach its end.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct ReconcileError {
    /// In one word.
    pub reason: Reason,
    /// What to do about it.
    pub retry: Retry,
    /// ReasonLabel.
    #[source]
    pub source: BoxError,
}

impl ReconcileError {
    /// Whether somebody else wrote at the same time, or the operator's view was stale.
    pub fn is_conflict(&self) -> bool {
        self.retry == Retry::Soon
    }
}

impl From<crate::error::ApiError> for ReconcileError {
    fn from(error: crate::error::ApiError) -> Self {
        Self { reason: error.reason(), retry: error.retry(), source: error.into() }
    }
}

/// The workers of one kind.
pub struct Controller<R> {
    reconciler: Arc<R>,
    at_once: usize,
    inbox: mpsc::Receiver<ObjectKey>,
    metrics: RuntimeMetrics,
}

/// How a reconcile ended, and how long it took.
type Ended = (Result<Option<RequeueAfter>, ReconcileError>, ReconcileOutcome, Duration);

impl<R: Reconcile> Controller<R> {
    /// At most `at_once` reconciles run at a time.
    pub fn new(
        reconciler: Arc<R>,
        at_once: usize,
        inbox: mpsc::Receiver<ObjectKey>,
        metrics: RuntimeMetrics,
    ) -> Self {
        Self { reconciler, at_once, inbox, metrics }
    }

    /// Works until shutdown, then until the reconciles under way have ended. Begins with `first`.
    pub async fn run(
        mut self,
        first: impl IntoIterator<Item = ObjectKey>,
        shutdown: Shutdown,
    ) -> Result<(), Infallible> {
        let mut queue: WorkQueue<ObjectKey> = WorkQueue::default();
        first.into_iter().for_each(|key| queue.add(key));
        let mut backoff = Backoff::default();
        let mut running: JoinSet<Ended> = JoinSet::new();
        let mut keys: HashMap<Id, ObjectKey> = HashMap::new();
        let mut listening = true;
        loop {
            while running.len() < self.at_once
                && let Some(key) = queue.take(Instant::now())
            {
                let id = running.spawn(reconcile(Arc::clone(&self.reconciler), key.clone())).id();
                keys.insert(id, key);
            }
            self.show(queue.depth(), running.len());
            let due = queue.next_due().filter(|_| running.len() < self.at_once);
            tokio::select! {
                biased;
                () = shutdown.begun() => break,
                Some(ended) = running.join_next_with_id() => {
                    let (id, ended) = match ended {
                        Ok((id, ended)) => (id, Some(ended)),
                        Err(error) => (error.id(), None),
                    };
                    if let Some(key) = keys.remove(&id) {
                        let pause = self.ended(&key, ended, &mut backoff);
                        queue.done(key, pause.map(|pause| Instant::now() + pause));
                    }
                }
                key = self.inbox.recv(), if listening => match key {
                    Some(key) => queue.add(key),
                    None => listening = false,
                },
                () = sleep_until(due) => {}
            }
        }
        while running.join_next().await.is_some() {}
        self.show(0, 0);
        Ok(())
    }

    fn show(&self, depth: usize, running: usize) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.depth.get_or_create(&By((R::KIND,))).set(number(depth));
        self.metrics.working.get_or_create(&By((R::KIND,))).set(number(running));
    }

    /// Counts and tells; the pause until the key comes again.
    fn ended(
        &self,
        key: &ObjectKey,
        ended: Option<Ended>,
        backoff: &mut Backoff<ObjectKey>,
    ) -> Option<Duration> {
        let kind = R::KIND.value();
        let (result, outcome, took) = ended.unwrap_or_else(|| {
            let failure = ReconcileError {
                reason: Reason::SyncFailed,
                retry: Retry::Slowly,
                source: "the reconcile panicked: this is a bug, please report it".into(),
            };
            (Err(failure), ReconcileOutcome::Panicked, Duration::ZERO)
        });
        self.metrics.seconds.get_or_create(&By((R::KIND, outcome))).observe(took.as_secs_f64());
        match result {
            Ok(next) => {
                backoff.forget(key);
                next.map(|RequeueAfter(pause)| pause)
            }
            Err(failure) => {
                self.metrics.failures.get_or_create(&By((R::KIND, ReasonLabel(failure.reason)))).inc();
                let pause = backoff.failed(key.clone(), failure.retry, chance());
                let error = failure.source.as_ref() as &dyn std::error::Error;
                let reason = failure.reason.as_str();
                if failure.retry == Retry::Soon {
                    tracing::debug!(kind, %key, reason, error, ?pause, "again");
                } else {
                    tracing::warn!(kind, %key, reason, error, ?pause, "cannot reconcile; trying again");
                }
                Some(pause)
            }
        }
    }
}

async fn reconcile<R: Reconcile>(reconciler: Arc<R>, key: ObjectKey) -> Ended {
    let span = tracing::info_span!("reconcile", kind = R::KIND.value(), %key);
    let begun = Instant::now();
    let result = tokio::time::timeout(DEADLINE, reconciler.reconcile(&key).instrument(span)).await;
    let took = begun.elapsed();
    match result {
        Ok(Ok(next)) => (Ok(next), ReconcileOutcome::Done, took),
        Ok(Err(failure)) => (Err(failure), ReconcileOutcome::Failed, took),
        Err(_) => {
            let failure = ReconcileError {
                reason: Reason::SyncFailed,
                retry: Retry::Later,
                source: format!("the reconcile was not done within {DEADLINE:?}").into(),
            };
            (Err(failure), ReconcileOutcome::TimedOut, took)
        }
    }
}

/// A number between 0 and 1, to spread what failed together.
fn chance() -> f64 {
    f64::from(u16::try_from(uuid::Uuid::new_v4().as_u128() & 0xffff).unwrap_or_default())
        / f64::from(u16::MAX)
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
