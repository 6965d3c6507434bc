//! Reading jobs and nodes.

use vmafx_queue::job::Attempt;
use vmafx_queue::node::Node;
use vmafx_queue::{Job, JobId};

use super::request::ListJobs;
use super::response::{JobPage, WaitExplanation};
use super::{Service, check, explain, page_size};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    pub async fn job(&self, who: &Identity, id: &str) -> Result<Job, Refusal> {
        let found = self.0.store.job(&who.tenant, check::job_id(id)?).await?;
        found.ok_or_else(|| no_such_job(id))
    }

    /// The attempts of a job, oldest first.
    pub async fn attempts(&self, who: &Identity, id: &str) -> Result<Vec<Attempt>, Refusal> {
        let job: JobId = check::job_id(id)?;
        let attempts = self.0.store.attempts(&who.tenant, job).await?;
        if attempts.is_empty() {
            // Distinguishes a job that was never assigned from one that does not exist.
            self.job(who, id).await?;
        }
        Ok(attempts)
    }

    /// A page of jobs, ordered by creation and then id. It is shorter than requested if its jobs are very large.
    pub async fn jobs(&self, who: &Identity, request: ListJobs) -> Result<JobPage, Refusal> {
        let (filter, mut page) = check::list(request)?;
        // One job more than the page holds shows whether there is a next page.
        page.limit += 1;
        let mut jobs = self.0.store.jobs(&who.tenant, &filter, &page).await?;
        page.limit -= 1;
        let size = (page.limit as usize).min(page_size::fitting(&jobs));
        let next = match jobs.get(size - 1) {
            Some(last) if jobs.len() > size => check::page_token(last, page.newest_first),
            _ => String::new(),
        };
        jobs.truncate(size);
        Ok(JobPage { jobs, next })
    }

    pub async fn explain(&self, who: &Identity, id: &str) -> Result<WaitExplanation, Refusal> {
        let found = self.0.store.explain(&who.tenant, check::job_id(id)?).await?;
        let explained = found.ok_or_else(|| no_such_job(id))?;
        let share = self.pool_share(who, &explained.job).await?;
        Ok(explain::explain(explained, &self.limits_of(&who.tenant), share, self.0.clock.now()))
    }

    /// Live nodes, ordered by name and then session.
    pub async fn nodes(&self, who: &Identity) -> Result<Vec<Node>, Refusal> {
        Ok(self.0.store.nodes(&who.tenant).await?)
    }

    /// Whether a score can be computed now; the error says why not.
    pub async fn can_score(&self, who: &Identity) -> Result<(), String> {
        if self.0.shutdown.has_begun() {
            return Err("the controller is shutting down".to_owned());
        }
        match self.0.store.nodes(&who.tenant).await {
            Ok(nodes) if nodes.is_empty() => Err("no node is connected".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The refusal of an id that is unknown, malformed or of another tenant. The text is the same for all, so that it does
/// not reveal the jobs of other tenants.
pub(super) fn no_such_job(id: &str) -> Refusal {
    Refusal::NotFound(format!("job {:?} not found", check::abbreviated(id)))
}
