//! Jobs that run in a Pod of their own: one Kubernetes Job per resource, which retries and ends it.
//!
//! | module       | holds                                                                                       |
//! |--------------|---------------------------------------------------------------------------------------------|
//! | [`observe`]  | the Kubernetes Job and its Pods, of which [`snapshot`] keeps a part; [`watch`] fills the caches |
//! | [`plan`]     | what to do about the Kubernetes Job, and why; pure                                          |
//! | [`apply`]    | carries out the plan                                                                        |
//! | [`status`]   | the status that follows; [`outcome`]: how the job ended; [`waiting`]: why it does not run; pure |
//! | [`render`]   | the Kubernetes Job; [`args`]: the arguments of its container, [`name`]: its name; pure      |
//! | [`source`]   | what the template of a Kubernetes Job was made from, and whether it follows the spec; pure  |
//!
//! The Kubernetes Job is created and never applied again, because its template cannot be changed: another template is
//! another Job. Of the fields that can be changed, only those that differ are sent. So an object that is shared with
//! another controller, such as Kueue, has one writer per field, and nothing is sent while nothing changes.

pub mod apply;
pub mod args;
#[cfg(test)]
mod fixtures;
pub mod name;
pub mod observe;
pub mod outcome;
pub mod plan;
pub mod render;
pub mod snapshot;
pub mod source;
pub mod status;
pub mod waiting;
pub mod watch;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use vmafx_api::{VmafxJob, VmafxJobStatus};

use self::apply::AppliedPodJob;
use self::plan::{plan, requeue_after};
use self::render::JobDefaults;
use self::snapshot::{BatchJobSnapshot, PodSnapshot};
use self::source::progress;
use self::status::status;
use super::plan::is_final;
use crate::error::ApiError;
use crate::runtime::{Cache, ReconcileError};
use crate::workload::ServiceAccounts;

/// The Job controller changes a young Job often, and a write is refused if the Job has changed since it was read.
const MAX_ATTEMPTS: usize = 3;

#[derive(Clone)]
pub struct PodJobs {
    pub client: Client,
    /// The Kubernetes Jobs with our label.
    pub jobs: Cache<BatchJobSnapshot>,
    /// The Pods with our label.
    pub pods: Cache<PodSnapshot>,
    pub accounts: Arc<ServiceAccounts>,
    pub defaults: JobDefaults,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PodJobPass {
    /// The status that the resource should have.
    pub status: VmafxJobStatus,
    /// `None` if nothing is left to do.
    pub requeue_after: Option<Duration>,
}

impl PodJobs {
    /// Makes no request while nothing has changed.
    pub async fn reconcile(&self, job: &VmafxJob, now: Timestamp) -> Result<PodJobPass, ReconcileError> {
        let unchanged = || PodJobPass { status: job.status.clone().unwrap_or_default(), requeue_after: None };
        if is_final(job) || job.metadata.deletion_timestamp.is_some() {
            return Ok(unchanged());
        }
        let mut observed = self.observe(job);
        let mut attempt = 1;
        loop {
            if let Some(outcome) = self.observe_outcome(job, &mut observed).await? {
                let progress = progress(job, &observed, &self.defaults);
                let status = status(job, &observed, &progress, Some(&outcome), None, now);
                return Ok(PodJobPass { status, requeue_after: None });
            }
            let progress = progress(job, &observed, &self.defaults);
            let plan = plan(job, observed.job.as_deref(), &progress);
            tracing::debug!(?plan, "planned the next action");
            match self.apply(job, observed, plan.action).await {
                Ok(AppliedPodJob::Observed { observed, obstacle }) => {
                    let progress = self::progress(job, &observed, &self.defaults);
                    let status = status(job, &observed, &progress, None, obstacle.as_ref(), now);
                    return Ok(PodJobPass {
                        status,
                        requeue_after: requeue_after(job, obstacle.as_ref(), now),
                    });
                }
                Ok(AppliedPodJob::Outdated) => return Ok(unchanged()),
                Err(ApiError::Conflict { .. }) if attempt < MAX_ATTEMPTS => {
                    attempt += 1;
                    observed = self.observe_live(job).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
