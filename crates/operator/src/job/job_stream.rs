//! Reads the controller's live stream into the cache: one stream for all jobs of a scope, resumed at its cursor.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use tonic::{Code, Status, Streaming};
use vmafx_kit::tasks::Shutdown;
use vmafx_proto::controller::v1::Job;

use super::CachedJob;
use super::cached_job::open_resource;
use super::controller_client::trimmed;
use super::metrics::JobMetrics;
use super::scope::{JobScope, JobScopes};
use crate::runtime::{Cache, Cached as _, Notifier};

/// The controller sends a message every 15 s; a stream without one for this long is dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

pub struct JobStreamReader {
    pub scope: JobScope,
    pub scopes: JobScopes,
    pub jobs: Cache<CachedJob>,
    /// Notified of the resources whose job changed.
    pub notifier: Notifier,
    pub metrics: JobMetrics,
}

enum StreamEnd {
    /// The controller cannot resume at the cursor.
    CursorExpired,
    /// The message says why.
    Disconnected(String),
}

/// What outlives one stream.
struct StreamState {
    /// Empty: start with the next change.
    cursor: String,
    retry_delays: ExponentialBackoff,
    /// The problem that was logged last, so that a retry with the same one is not logged again.
    logged: Option<String>,
}

impl JobStreamReader {
    pub async fn run(self, shutdown: Shutdown) -> Result<(), Infallible> {
        shutdown.run_until_begun(self.read_streams()).await;
        self.set_live(false);
        Ok(())
    }

    async fn read_streams(&self) -> Infallible {
        let mut state = StreamState { cursor: String::new(), retry_delays: retry_delays(), logged: None };
        loop {
            let resumed = !state.cursor.is_empty();
            let end = match self.scope.controller.changes(state.cursor.clone()).await {
                Ok(stream) => self.read(stream, resumed, &mut state).await,
                Err(status) => self.end(&status),
            };
            self.set_live(false);
            match end {
                StreamEnd::CursorExpired if resumed => {
                    tracing::warn!(
                        "the controller cannot resume the stream of jobs; every open job is read again"
                    );
                    state.cursor.clear();
                    continue;
                }
                StreamEnd::CursorExpired => {}
                StreamEnd::Disconnected(problem) => {
                    self.metrics.cuts.inc();
                    if state.logged.as_ref() != Some(&problem) {
                        tracing::warn!(problem, "cannot read the controller's stream of jobs; retrying");
                        state.logged = Some(problem);
                    }
                }
            }
            tokio::time::sleep(state.retry_delays.next().unwrap_or(MAX_RETRY_DELAY)).await;
        }
    }

    async fn read(&self, mut stream: Streaming<Job>, resumed: bool, state: &mut StreamState) -> StreamEnd {
        let mut connected = resumed;
        if resumed {
            self.connected(state).await;
        }
        loop {
            let item = match tokio::time::timeout(SILENCE_TIMEOUT, stream.message()).await {
                Ok(Ok(Some(item))) => item,
                Ok(Ok(None)) => {
                    return StreamEnd::Disconnected("the controller closed the stream".to_owned());
                }
                // Not an outage: another controller may be fine, or the stream has outlived the token that it was opened with. The
                // next attempt to open the stream tells.
                Ok(Err(status)) if matches!(status.code(), Code::Unavailable | Code::Unauthenticated) => {
                    return StreamEnd::Disconnected(status.message().to_owned());
                }
                Ok(Err(status)) => return self.end(&status),
                Err(_) => {
                    let problem = format!("the controller sent nothing for {SILENCE_TIMEOUT:?}");
                    return StreamEnd::Disconnected(problem);
                }
            };
            state.retry_delays = retry_delays();
            self.scope.controller.outages().answered();
            if !item.cursor.is_empty() {
                state.cursor.clone_from(&item.cursor);
            }
            if !connected {
                // No change is missed from here on, but what is cached may be outdated.
                self.scope.cache.clear();
                self.connected(state).await;
                connected = true;
            }
            if self.scope.has_origin(&item)
                && let Some(key) = open_resource(&self.jobs, &item)
                && self.scope.cache.put(Arc::new(trimmed(item)))
            {
                self.notifier.notify(key).await;
            }
        }
    }

    /// Changes arrive again, so every open resource is reconciled once.
    async fn connected(&self, state: &mut StreamState) {
        if state.logged.take().is_some() {
            tracing::info!("the controller's stream of jobs is connected again");
        }
        self.set_live(true);
        for cached in self.jobs.all() {
            let key = cached.key();
            if cached.open().is_some() && self.scope.has_namespace(&key.namespace) {
                self.notifier.notify(key).await;
            }
        }
    }

    fn set_live(&self, live: bool) {
        self.scope.cache.set_live(live);
        self.metrics.live.set(i64::from(self.scopes.are_live()));
    }

    fn end(&self, status: &Status) -> StreamEnd {
        match status.code() {
            Code::OutOfRange => StreamEnd::CursorExpired,
            _ => StreamEnd::Disconnected(self.scope.controller.failure(status).explanation.message),
        }
    }
}

fn retry_delays() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(MAX_RETRY_DELAY)
        .without_max_times()
        .build()
}
