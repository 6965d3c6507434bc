//! New jobs.

use vmafx_queue::store::Submitted;

use super::request::Submit;
use super::{Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// Stores a job, or finds the one with the same key.
    pub async fn submit(&self, who: &Identity, request: Submit) -> Result<Submitted, Refusal> {
        let job = check::submit(request)?;
        self.inside_roots(who, "scoring", &job.scoring)?;
        self.store_job(who, job).await
    }

    pub(super) async fn store_job(
        &self,
        who: &Identity,
        job: vmafx_queue::NewJob,
    ) -> Result<Submitted, Refusal> {
        let submitted = self.0.store.submit(&who.tenant, job).await?;
        if !submitted.deduplicated {
            self.0.metrics.submitted(&who.tenant);
        }
        Ok(submitted)
    }

    /// Refuses clips and reports outside the roots. `within` is the message that the fields stand in, if any.
    pub(super) fn inside_roots(
        &self,
        who: &Identity,
        within: &str,
        scoring: &vmafx_queue::scoring::Scoring,
    ) -> Result<(), Refusal> {
        let addresses = [
            ("reference", &scoring.reference),
            ("distorted", &scoring.distorted),
            ("report_uri", &scoring.report_uri),
        ];
        for (field, address) in addresses {
            if address.is_empty() {
                continue;
            }
            self.0
                .roots
                .check(&who.tenant, address)
                .map_err(|problem| Refusal::Denied(format!("{}: {problem}", check::path(within, field))))?;
        }
        Ok(())
    }
}
