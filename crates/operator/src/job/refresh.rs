//! Asks the controller about open jobs of which nothing was heard, although the live stream is connected.
//!
//! A stream that is alive may still deliver nothing: on Postgres a transaction that is left open holds back the feed of
//! changes. So an open job of which nothing was heard for a while is read directly. The jobs are read in batches, because
//! ten thousand waiting jobs would otherwise be seven hundred calls a second.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use vmafx_kit::tasks::Shutdown;
use vmafx_proto::controller::v1::Job;

use super::CachedJob;
use super::cached_job::open_resource;
use super::controller_client::trimmed;
use super::metrics::JobMetrics;
use super::outage::ControllerOutage;
use super::scope::JobScope;
use crate::runtime::{Cache, Notifier};

const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// An open job is asked for when nothing was heard of it for this long.
const MAX_SILENCE: Duration = Duration::from_secs(15);

const BATCH_SIZE: usize = 500;

/// With very many open jobs they are asked for less often, so that the controller reads at most this many a second.
const MAX_JOBS_PER_SECOND: u64 = 1000;

pub struct JobRefresher {
    pub scope: JobScope,
    pub jobs: Cache<CachedJob>,
    /// Notified of the resources whose job has changed.
    pub notifier: Notifier,
    pub metrics: JobMetrics,
}

impl JobRefresher {
    pub async fn run(self, shutdown: Shutdown) -> Result<(), Infallible> {
        let refreshing = async {
            loop {
                tokio::time::sleep(CHECK_INTERVAL).await;
                // Without the stream every job is polled.
                if self.scope.cache.is_live()
                    && let Err(outage) = self.refresh().await
                {
                    tracing::warn!(
                        problem = outage.explanation.message,
                        "cannot ask the controller about silent jobs"
                    );
                }
            }
        };
        shutdown.run_until_begun(refreshing).await.unwrap_or(Ok(()))
    }

    async fn refresh(&self) -> Result<(), ControllerOutage> {
        let silent = self.scope.cache.silent_for(max_silence(self.scope.cache.len()));
        for batch in silent.chunks(BATCH_SIZE) {
            let ids = batch.iter().map(|job| job.id.clone()).collect();
            let answer = self.scope.controller.read(ids).await?;
            self.take(batch, answer).await;
        }
        Ok(())
    }

    /// A job that the controller does not have is forgotten here too, so that its resource is reconciled from the start.
    async fn take(&self, asked: &[Arc<Job>], answer: Vec<Job>) {
        let missing: Vec<_> =
            asked.iter().filter(|job| !answer.iter().any(|found| found.id == job.id)).cloned().collect();
        let changed: Vec<_> = answer
            .into_iter()
            .map(|job| Arc::new(trimmed(job)))
            .filter(|job| self.scope.cache.put(Arc::clone(job)))
            .collect();
        for job in &missing {
            self.scope.cache.remove(&job.id);
        }
        for job in missing.iter().chain(&changed) {
            self.metrics.refreshed.inc();
            if let Some(key) = open_resource(&self.jobs, job) {
                self.notifier.notify(key).await;
            }
        }
    }
}

fn max_silence(open_jobs: usize) -> Duration {
    let open_jobs = u64::try_from(open_jobs).unwrap_or(u64::MAX);
    MAX_SILENCE.max(Duration::from_secs(open_jobs / MAX_JOBS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_jobs_are_asked_for_less_often() {
        assert_eq!(max_silence(1), MAX_SILENCE);
        assert_eq!(max_silence(10_000), MAX_SILENCE, "twenty calls in fifteen seconds");
        assert_eq!(max_silence(100_000), Duration::from_secs(100));
    }
}
