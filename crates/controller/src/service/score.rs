//! A score that somebody waits for: a job like any other, cancelled when nobody waits any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use vmafx_job::CancelCause;
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, NewJob, TenantId};

use super::request::Score;
use super::{Inner, Service, shutting_down};
use crate::identity::Identity;
use crate::live::Happening;
use crate::refusal::Refusal;

/// A job that ends elsewhere is noticed after this long at the latest.
const LOOK: Duration = Duration::from_secs(10);
/// Changes of other jobs of the same tenant make it look no more often than this.
const PAUSE: Duration = Duration::from_secs(1);

impl Service {
    /// Submits a job and waits for its end; the answer is the job, whatever its end was. When the call is given up,
    /// so is the job. Fields are named without `scoring.`, as they stand in the requests that lead here.
    pub async fn score_and_wait(&self, who: &Identity, request: Score) -> Result<Job, Refusal> {
        let begun = Instant::now();
        self.0.metrics.score_requests.inc();
        let scored = self.submit_and_wait(who, request).await;
        self.0.metrics.score_duration.observe(begun.elapsed().as_secs_f64());
        if !scored.as_ref().is_ok_and(|job| job.state == State::Completed) {
            self.0.metrics.score_errors.inc();
        }
        scored
    }

    async fn submit_and_wait(&self, who: &Identity, request: Score) -> Result<Job, Refusal> {
        request.scoring.check().map_err(|error| Refusal::invalid_request("", error))?;
        self.inside_roots(who, "", &request.scoring)?;
        if self.0.shutdown.has_begun() {
            return Err(shutting_down());
        }
        let deadline = Some(self.0.patience.longest_score);
        let job = NewJob { scoring: request.scoring, deadline, ..NewJob::default() };
        let id = self.store_job(who, job).await?.id;
        let waiting = Waiting { inner: self.0.clone(), tenant: who.tenant.clone(), job: Some(id) };
        let shutdown = self.0.shutdown.clone();
        tokio::select! {
            ended = self.wait_for_end(who, id) => {
                waiting.over();
                ended
            }
            // The job is cancelled on the way out: there will be nobody to hear of its end.
            () = shutdown.begun() => Err(shutting_down()),
        }
    }

    async fn wait_for_end(&self, who: &Identity, id: JobId) -> Result<Job, Refusal> {
        let mut changed = self.0.live.listen(&who.tenant, Happening::Changed);
        let mut ended = self.0.live.await_end(id);
        loop {
            changed.mark_unchanged();
            let found = self.0.store.job(&who.tenant, id).await?;
            match found {
                Some(job) if job.state.is_final() => return Ok(job),
                Some(_) => {}
                None => return Err(Refusal::NotFound(format!("job \"{id}\" was removed"))),
            }
            tokio::select! {
                heard = &mut ended => if heard.is_err() {
                    // Somebody else's end of the wait; listen anew.
                    ended = self.0.live.await_end(id);
                },
                () = async {
                    // A closed channel means nobody tells any more; the look below still comes.
                    if changed.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                    tokio::time::sleep(PAUSE).await;
                } => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

/// Cancels a job whose caller is gone.
struct Waiting {
    inner: Arc<Inner>,
    tenant: TenantId,
    job: Option<JobId>,
}

impl Waiting {
    fn over(mut self) {
        self.job = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(job) = self.job.take() else { return };
        let (inner, tenant) = (self.inner.clone(), self.tenant.clone());
        self.inner.errands.begin(async move {
            match inner.store.cancel(&tenant, job, CancelCause::Requested, "the caller went away").await {
                Ok(Some(cancelled)) if cancelled.moved => inner.metrics.ended(&cancelled.job),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%job, error = &error as &dyn std::error::Error, "cannot cancel the job");
                }
            }
        });
    }
}
