//! Takes keys from the work queue and reconciles them, a limited number at the same time.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tracing::Instrument as _;
use vmafx_api::conditions::Reason;
use vmafx_kit::metrics::{LabelSet, MetricLabel as _};
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::backoff::Backoff;
use super::metrics::{ReasonLabel, ReconcileOutcome, RuntimeMetrics, WatchedKind};
use super::queue::WorkQueue;
use crate::error::Retry;
use crate::key::ObjectKey;

/// A reconcile that takes longer is cancelled.
const DEADLINE: Duration = Duration::from_mins(1);

/// Reconciles the resources of one kind.
pub trait Reconcile: Send + Sync + 'static {
    const KIND: WatchedKind;

    /// One pass over a resource. `Ok(None)`: the resource is gone, or nothing is left to do until it changes.
    fn reconcile(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<RequeueAfter>, ReconcileError>> + Send;
}

/// Time until the next pass, if nothing changes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequeueAfter(pub Duration);

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct ReconcileError {
    pub reason: Reason,
    pub retry: Retry,
    #[source]
    pub source: BoxError,
}

impl ReconcileError {
    /// Whether another client wrote at the same time, or the operator's view was stale.
    pub fn is_conflict(&self) -> bool {
        self.retry == Retry::Soon
    }
}

impl From<crate::error::ApiError> for ReconcileError {
    fn from(error: crate::error::ApiError) -> Self {
        Self { reason: error.reason(), retry: error.retry(), source: error.into() }
    }
}

/// The reconciles of one kind.
pub struct Controller<R> {
    reconciler: Arc<R>,
    concurrency: usize,
    inbox: mpsc::Receiver<ObjectKey>,
    metrics: RuntimeMetrics,
}

/// Result, metrics label and duration of a reconcile.
type Finished = (Result<Option<RequeueAfter>, ReconcileError>, ReconcileOutcome, Duration);

impl<R: Reconcile> Controller<R> {
    pub fn new(
        reconciler: Arc<R>,
        concurrency: usize,
        inbox: mpsc::Receiver<ObjectKey>,
        metrics: RuntimeMetrics,
    ) -> Self {
        Self { reconciler, concurrency, inbox, metrics }
    }

    /// Reconciles the keys `first` and then those from the inbox until shutdown, and waits for the running reconciles.
    pub async fn run(
        mut self,
        first: impl IntoIterator<Item = ObjectKey>,
        shutdown: Shutdown,
    ) -> Result<(), Infallible> {
        let mut queue: WorkQueue<ObjectKey> = WorkQueue::default();
        first.into_iter().for_each(|key| queue.add(key));
        let mut backoff = Backoff::default();
        let mut running: JoinSet<Finished> = JoinSet::new();
        let mut keys: HashMap<Id, ObjectKey> = HashMap::new();
        let mut inbox_open = true;
        loop {
            while running.len() < self.concurrency
                && let Some(key) = queue.take(Instant::now())
            {
                let id = running.spawn(reconcile(Arc::clone(&self.reconciler), key.clone())).id();
                keys.insert(id, key);
            }
            self.report(queue.depth(), running.len());
            let due = queue.next_due().filter(|_| running.len() < self.concurrency);
            tokio::select! {
                biased;
                () = shutdown.begun() => break,
                Some(joined) = running.join_next_with_id() => {
                    let (id, finished) = match joined {
                        Ok((id, finished)) => (id, Some(finished)),
                        Err(error) => (error.id(), None),
                    };
                    if let Some(key) = keys.remove(&id) {
                        let delay = self.finish(&key, finished, &mut backoff);
                        queue.done(key, delay.map(|delay| Instant::now() + delay));
                    }
                }
                key = self.inbox.recv(), if inbox_open => match key {
                    Some(key) => queue.add(key),
                    None => inbox_open = false,
                },
                () = sleep_until(due) => {}
            }
        }
        while running.join_next().await.is_some() {}
        self.report(0, 0);
        Ok(())
    }

    fn report(&self, depth: usize, running: usize) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.depth.get_or_create(&LabelSet((R::KIND,))).set(number(depth));
        self.metrics.working.get_or_create(&LabelSet((R::KIND,))).set(number(running));
    }

    /// Counts and logs a finished reconcile and returns the delay until the next one; `None` for `finished` is a panic.
    fn finish(
        &self,
        key: &ObjectKey,
        finished: Option<Finished>,
        backoff: &mut Backoff<ObjectKey>,
    ) -> Option<Duration> {
        let kind = R::KIND.value();
        let (result, outcome, took) = finished.unwrap_or_else(|| {
            let failure = ReconcileError {
                reason: Reason::SyncFailed,
                retry: Retry::Slowly,
                source: "the reconcile panicked: this is a bug, please report it".into(),
            };
            (Err(failure), ReconcileOutcome::Panicked, Duration::ZERO)
        });
        self.metrics.seconds.get_or_create(&LabelSet((R::KIND, outcome))).observe(took.as_secs_f64());
        match result {
            Ok(next) => {
                backoff.forget(key);
                next.map(|RequeueAfter(delay)| delay)
            }
            Err(failure) => {
                self.metrics.failures.get_or_create(&LabelSet((R::KIND, ReasonLabel(failure.reason)))).inc();
                let delay = backoff.failed(key.clone(), failure.retry, jitter());
                let error = failure.source.as_ref() as &dyn std::error::Error;
                let reason = failure.reason.as_str();
                if failure.retry == Retry::Soon {
                    tracing::debug!(kind, %key, reason, error, retry_in = ?delay, "conflict; reconciling again");
                } else {
                    tracing::warn!(kind, %key, reason, error, retry_in = ?delay, "cannot reconcile; trying again");
                }
                Some(delay)
            }
        }
    }
}

async fn reconcile<R: Reconcile>(reconciler: Arc<R>, key: ObjectKey) -> Finished {
    let span = tracing::info_span!("reconcile", kind = R::KIND.value(), %key);
    let started = Instant::now();
    let result = tokio::time::timeout(DEADLINE, reconciler.reconcile(&key).instrument(span)).await;
    let took = started.elapsed();
    match result {
        Ok(Ok(next)) => (Ok(next), ReconcileOutcome::Done, took),
        Ok(Err(failure)) => (Err(failure), ReconcileOutcome::Failed, took),
        Err(_) => {
            let failure = ReconcileError {
                reason: Reason::SyncFailed,
                retry: Retry::Later,
                source: format!("the reconcile did not finish within {DEADLINE:?}").into(),
            };
            (Err(failure), ReconcileOutcome::TimedOut, took)
        }
    }
}

/// A random number from 0 to 1.
fn jitter() -> f64 {
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
