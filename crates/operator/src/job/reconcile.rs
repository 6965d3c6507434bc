//! One pass over a job.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use vmafx_api::job::Execution;

use super::Seen;
use super::pod::PodJobs;
use crate::key::ObjectKey;
use crate::runtime::{Cache, Failure, Kind, Next, Reconcile};

/// Reconciles jobs.
pub struct JobReconciler {
    /// The way to the API server.
    pub client: Client,
    /// What is known of them.
    pub jobs: Cache<Seen>,
    /// Those that have a Pod of their own.
    pub pods: PodJobs,
}

impl Reconcile for JobReconciler {
    const KIND: Kind = Kind::Job;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<Next>, Failure> {
        let Some(seen) = self.jobs.get(key).filter(|seen| seen.0.spec.execution == Execution::Pod) else {
            return Ok(None);
        };
        let job = &seen.0;
        let pass = self.pods.pass(job, Timestamp::now()).await?;
        if job.status.as_ref() != Some(&pass.status)
            && let Some(written) = crate::status::apply(&self.client, job, &pass.status).await?
        {
            self.jobs.put(Seen::from(written));
        }
        Ok(Some(Next(pass.again.unwrap_or(Duration::from_hours(1)))))
    }
}
