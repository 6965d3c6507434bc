//! Submission of jobs.

use vmafx_job::ScoringRequest;
use vmafx_queue::store::Submitted;

use super::labeller::labeller;
use super::request::SubmitJob;
use super::{Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// Stores a job, or returns the one that the same caller submitted with the same idempotency key.
    pub async fn submit(&self, who: &Identity, request: SubmitJob) -> Result<Submitted, Refusal> {
        let job = check::submit(request)?;
        check::priority(who.roles, job.priority, self.0.limits.writer_priority)?;
        self.inside_roots(who, "scoring", &job.scoring)?;
        self.store_job(who, job).await
    }

    pub(super) async fn store_job(
        &self,
        who: &Identity,
        job: vmafx_queue::NewJob,
    ) -> Result<Submitted, Refusal> {
        let labelled_by = job.label.map(|_| labeller(who, job.origin.as_ref())).unwrap_or_default();
        let job = vmafx_queue::NewJob { submitter: who.subject.clone(), labelled_by, ..job };
        let submitted = self.0.store.submit(&who.tenant, job, &self.limits_of(&who.tenant)).await;
        let submitted = submitted.map_err(|error| self.refused(error))?;
        if !submitted.deduplicated {
            self.0.metrics.submitted(&who.tenant);
        }
        Ok(submitted)
    }

    /// Refuses clips outside the scoring roots, and a report outside the report roots. `within` is the path of the message
    /// that has the fields.
    pub(super) fn inside_roots(
        &self,
        who: &Identity,
        within: &str,
        scoring: &ScoringRequest,
    ) -> Result<(), Refusal> {
        let (roots, tenant) = (&self.0.roots, &who.tenant);
        let outside = |field: &str, checked: Result<(), String>| {
            checked.map_err(|problem| Refusal::OutsideRoots { field: check::path(within, field), problem })
        };
        outside("reference", roots.check(tenant, &scoring.reference))?;
        outside("distorted", roots.check(tenant, &scoring.distorted))?;
        match &scoring.report_uri {
            Some(address) => outside("report_uri", roots.check_report(tenant, address)),
            None => Ok(()),
        }
    }
}
