//! Looking at jobs and nodes.

use vmafx_queue::job::Attempt;
use vmafx_queue::node::Node;
use vmafx_queue::{Job, JobId};

use super::answer::{Explanation, JobPage};
use super::request::List;
use super::{Service, check, explain};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// One job.
    pub async fn job(&self, who: &Identity, id: &str) -> Result<Job, Refusal> {
        let found = self.0.store.job(&who.tenant, check::job_id(id)?).await?;
        found.ok_or_else(|| no_such_job(id))
    }

    /// The attempts of a job, first to last.
    pub async fn attempts(&self, who: &Identity, id: &str) -> Result<Vec<Attempt>, Refusal> {
        let job: JobId = check::job_id(id)?;
        let attempts = self.0.store.attempts(&who.tenant, job).await?;
        if attempts.is_empty() {
            // A job that was never handed out has none, a job that does not exist neither.
            self.job(who, id).await?;
        }
        Ok(attempts)
    }

    /// A page of jobs, by creation and then id.
    pub async fn jobs(&self, who: &Identity, request: List) -> Result<JobPage, Refusal> {
        let (filter, mut page) = check::list(request)?;
        // One more than asked for tells whether there is a next page.
        page.limit += 1;
        let mut jobs = self.0.store.jobs(&who.tenant, &filter, &page).await?;
        page.limit -= 1;
        let asked = page.limit as usize;
        let next = match jobs.get(asked - 1) {
            Some(last) if jobs.len() > asked => check::page_token(last, page.newest_first),
            _ => String::new(),
        };
        jobs.truncate(asked);
        Ok(JobPage { jobs, next })
    }

    /// Why a job waits.
    pub async fn explain(&self, who: &Identity, id: &str) -> Result<Explanation, Refusal> {
        let found = self.0.store.explain(&who.tenant, check::job_id(id)?).await?;
        found.map(|seen| explain::explain(seen, self.0.clock.now())).ok_or_else(|| no_such_job(id))
    }

    /// Live nodes, by name and then session.
    pub async fn nodes(&self, who: &Identity) -> Result<Vec<Node>, Refusal> {
        Ok(self.0.store.nodes(&who.tenant).await?)
    }

    /// Whether a score could be computed now; the text says why not.
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

/// The answer to an id that is unknown, malformed, or somebody else's: one text, so that nothing is learned from it.
pub(super) fn no_such_job(id: &str) -> Refusal {
    Refusal::NotFound(format!("job {:?} not found", check::shown(id)))
}
