//! Ending and labelling jobs.

use vmafx_job::CancelCause;
use vmafx_queue::Job;
use vmafx_queue::store::{self, LabelTarget};

use super::answer::Labelled;
use super::read::no_such_job;
use super::request::{LabelJob, Target};
use super::{Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// Ends a job that is not over; one that is over is left alone. The answer is the job afterwards.
    pub async fn cancel(
        &self,
        who: &Identity,
        id: &str,
        cause: CancelCause,
        reason: &str,
    ) -> Result<Job, Refusal> {
        let job = check::job_id(id)?;
        let reason = check::text("reason", reason)?;
        let cancelled = self.0.store.cancel(&who.tenant, job, cause, &reason).await?;
        let cancelled = cancelled.ok_or_else(|| no_such_job(id))?;
        if cancelled.moved {
            self.ended(&cancelled.job);
        }
        Ok(cancelled.job)
    }

    /// Says what viewers said.
    pub async fn label(&self, who: &Identity, request: LabelJob) -> Result<Labelled, Refusal> {
        let label = check::label("ground_truth", request.ground_truth)?;
        let (target, shown) = match request.target {
            Target::JobId(id) => (LabelTarget::Id(check::job_id(&id)?), id),
            Target::IdempotencyKey(key) => {
                (LabelTarget::Key(check::required_key("idempotency_key", &key)?), key)
            }
        };
        match self.0.store.label(&who.tenant, &target, label).await? {
            store::Labelled::NotFound => Err(no_such_job(&shown)),
            store::Labelled::Over => Err(Refusal::Conflict(format!(
                "job {:?} failed or was cancelled: it has no features to label",
                check::shown(&shown)
            ))),
            store::Labelled::Stored { id, sampled } => Ok(Labelled { job: id, sampled }),
        }
    }

    /// Counts a job that this process moved to its end, and wakes those who wait for it.
    pub(crate) fn ended(&self, job: &Job) {
        self.0.metrics.ended(job);
        self.0.live.ended(job.id);
    }
}
