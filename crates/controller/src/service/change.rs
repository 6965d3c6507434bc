//! Cancelling, changing and labelling jobs.

use vmafx_job::CancelCause;
use vmafx_queue::Job;
use vmafx_queue::job::Origin;
use vmafx_queue::store::{self, LabelTarget, Updated};

use super::labeller::labeller;
use super::read::no_such_job;
use super::request::{JobRef, LabelJob, UpdateJob};
use super::response::StoredLabel;
use super::{Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// Cancels a job that is not finished; a finished one stays as it is. Returns the job afterwards.
    pub async fn cancel(
        &self,
        who: &Identity,
        id: &str,
        cause: CancelCause,
        reason: &str,
    ) -> Result<Job, Refusal> {
        let job = check::job_id(id)?;
        let reason = check::free_text("reason", reason)?;
        let cancelled = self.0.store.cancel(&who.tenant, job, cause, &reason).await?;
        let cancelled = cancelled.ok_or_else(|| no_such_job(id))?;
        if cancelled.moved {
            self.ended(&cancelled.job);
        }
        Ok(cancelled.job)
    }

    /// Changes a job that is not finished; a finished one stays as it is. What is compared, and on which backend, cannot be
    /// changed: that would be another job.
    pub async fn update(&self, who: &Identity, id: &str, request: UpdateJob) -> Result<Updated, Refusal> {
        let job = check::job_id(id)?;
        let update = check::update(request)?;
        if let Some(priority) = update.priority {
            check::priority(who.roles, priority, self.0.limits.writer_priority)?;
        }
        if let Some(scoring) = &update.scoring {
            check::same_comparison(&self.job(who, id).await?.scoring, scoring)?;
            self.inside_roots(who, "scoring", scoring)?;
        }
        let updated = self.0.store.update(&who.tenant, job, update, &self.limits_of(&who.tenant)).await;
        updated.map_err(|error| self.refused(error))?.ok_or_else(|| no_such_job(id))
    }

    pub async fn label(&self, who: &Identity, request: LabelJob) -> Result<StoredLabel, Refusal> {
        let label = check::label("ground_truth", request.ground_truth)?;
        let (target, name) = match request.job {
            JobRef::JobId(id) => (LabelTarget::Id(check::job_id(&id)?), id),
            JobRef::IdempotencyKey(key) => {
                let submitter = who.subject.clone();
                (LabelTarget::Key { key: check::required_key("idempotency_key", &key)?, submitter }, key)
            }
        };
        let by = labeller(who, self.origin_for(who, &target).await?.as_ref());
        match self.0.store.label(&who.tenant, &target, label, &by).await? {
            store::Labelled::NotFound => Err(no_such_job(&name)),
            store::Labelled::Ambiguous => Err(Refusal::Conflict(format!(
                "several submitters used the idempotency key {:?}: label the job by its id",
                check::abbreviated(&name)
            ))),
            store::Labelled::Over => Err(Refusal::Conflict(format!(
                "job {:?} failed or was cancelled: it has no features to label",
                check::abbreviated(&name)
            ))),
            store::Labelled::Stored { id, sampled } => Ok(StoredLabel { job: id, sampled }),
        }
    }

    /// The origin of a job that the operator labels. That of other callers does not count, so it is not read.
    async fn origin_for(&self, who: &Identity, target: &LabelTarget) -> Result<Option<Origin>, Refusal> {
        match target {
            LabelTarget::Id(id) if who.calls_for_namespaces => {
                Ok(self.0.store.job(&who.tenant, *id).await?.and_then(|job| job.origin))
            }
            _ => Ok(None),
        }
    }

    /// Counts a job that this process finished, and wakes the calls that wait for it.
    pub(crate) fn ended(&self, job: &Job) {
        self.0.metrics.ended(job);
        self.freed_tenant(&job.tenant);
        self.0.subscriptions.ended(job.id);
    }
}
