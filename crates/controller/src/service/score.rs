//! Scores for waiting callers: an ordinary job that is cancelled when its caller goes away.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use vmafx_job::{CancelCause, ScoringRequest};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, NewJob, TenantId};

use super::{Inner, Service, shutting_down};
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::subscriptions::Topic;

/// Poll interval for jobs that another controller finishes.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// Changes of other jobs of the tenant cause a read no more often than this.
const DEBOUNCE: Duration = Duration::from_secs(1);

impl Service {
    /// Submits a job, waits until it is finished and returns it, whatever its state. The job is cancelled when the call is
    /// dropped. Refusals name fields without `scoring.`, because the requests that lead here have them at the top level.
    pub async fn score_and_wait(&self, who: &Identity, scoring: ScoringRequest) -> Result<Job, Refusal> {
        let started = Instant::now();
        self.0.metrics.score_requests.inc();
        let scored = self.submit_and_wait(who, scoring).await;
        self.0.metrics.score_duration.observe(started.elapsed().as_secs_f64());
        if !scored.as_ref().is_ok_and(|job| job.state == State::Completed) {
            self.0.metrics.score_errors.inc();
        }
        scored
    }

    async fn submit_and_wait(&self, who: &Identity, scoring: ScoringRequest) -> Result<Job, Refusal> {
        scoring.check().map_err(|error| Refusal::invalid_request("", error))?;
        self.inside_roots(who, "", &scoring)?;
        if self.0.shutdown.has_begun() {
            return Err(shutting_down());
        }
        let deadline = Some(self.0.limits.max_score_wait);
        let job = NewJob { scoring, deadline, ..NewJob::default() };
        let id = self.store_job(who, job).await?.id;
        let guard = CancelOnDrop { inner: self.0.clone(), tenant: who.tenant.clone(), job: Some(id) };
        let shutdown = self.0.shutdown.clone();
        tokio::select! {
            ended = self.wait_for_end(who, id) => {
                guard.disarm();
                ended
            }
            // Dropping the guard cancels the job, because its caller gets this refusal instead of the score.
            () = shutdown.begun() => Err(shutting_down()),
        }
    }

    async fn wait_for_end(&self, who: &Identity, id: JobId) -> Result<Job, Refusal> {
        let mut changed = self.0.subscriptions.subscribe(&who.tenant, Topic::Changed);
        let mut ended = self.0.subscriptions.await_end(id);
        loop {
            changed.mark_unchanged();
            let found = self.0.store.job(&who.tenant, id).await?;
            match found {
                Some(job) if job.state.is_final() => return Ok(job),
                Some(_) => {}
                None => return Err(Refusal::NotFound(format!("job \"{id}\" was removed"))),
            }
            tokio::select! {
                received = &mut ended => if received.is_err() {
                    // The sender was dropped without a message; subscribe again.
                    ended = self.0.subscriptions.await_end(id);
                },
                () = async {
                    // A closed channel never fires; the poll interval still does.
                    if changed.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                    tokio::time::sleep(DEBOUNCE).await;
                } => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }
}

/// Cancels a job whose caller went away.
struct CancelOnDrop {
    inner: Arc<Inner>,
    tenant: TenantId,
    job: Option<JobId>,
}

impl CancelOnDrop {
    fn disarm(mut self) {
        self.job = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(job) = self.job.take() else { return };
        let (inner, tenant) = (self.inner.clone(), self.tenant.clone());
        self.inner.detached.spawn(async move {
            match inner.store.cancel(&tenant, job, CancelCause::Requested, "the caller went away").await {
                Ok(Some(cancelled)) if cancelled.moved => inner.metrics.ended(&cancelled.job),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%job, error = &error as &dyn std::error::Error, "cannot cancel the job of a caller that went away");
                }
            }
        });
    }
}
