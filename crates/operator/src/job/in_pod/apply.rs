//! Carries out the plan for a Kubernetes Job.

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;
use vmafx_api::VmafxJob;

use super::PodJobs;
use super::observe::{ObservedPodJob, key};
use super::plan::{PodJobAction, foreign_owner, plan, terminating};
use super::render::render;
use super::snapshot::BatchJobSnapshot;
use super::source::{TemplateProgress, progress};
use super::status::Obstacle;
use crate::client::requests;
use crate::error::{ApiError, Retry};
use crate::job::plan::is_final;
use crate::key::ObjectKey;
use crate::template_policy::PodRole;
use crate::workload::DesiredAccount;

pub(super) enum AppliedPodJob {
    Observed {
        observed: ObservedPodJob,
        /// Why there is no Kubernetes Job for the resource.
        obstacle: Option<Obstacle>,
    },
    /// The resource has changed since it was cached, so nothing was done; its watch leads to another pass.
    Outdated,
}

impl AppliedPodJob {
    fn done(observed: ObservedPodJob) -> Self {
        Self::Observed { observed, obstacle: None }
    }

    fn blocked(observed: ObservedPodJob, obstacle: Obstacle) -> Self {
        Self::Observed { observed, obstacle: Some(obstacle) }
    }
}

impl PodJobs {
    pub(super) async fn apply(
        &self,
        job: &VmafxJob,
        observed: ObservedPodJob,
        action: PodJobAction,
    ) -> Result<AppliedPodJob, ApiError> {
        let live = observed.job.clone();
        Ok(match (action, live) {
            (PodJobAction::Create, _) => return self.create(job, 0).await,
            (PodJobAction::Replace, Some(live)) => return self.replace(job, observed, &live).await,
            (PodJobAction::Patch(fields), Some(live)) => {
                let patched =
                    requests::change::<Job>(&self.client, "update the Job", &live.identity, fields).await?;
                let patched = self.put(patched);
                AppliedPodJob::done(self.with_cached_pods(job, Some(patched)))
            }
            (PodJobAction::Delete, Some(live)) => {
                requests::delete::<Job>(&self.client, "delete the Job", &live.identity).await?;
                // The final status of a cancelled job keeps what was observed; a suspended one starts afresh.
                let left = if job.spec.cancel { observed } else { self.with_cached_pods(job, None) };
                AppliedPodJob::done(left)
            }
            (PodJobAction::AwaitDeletion, Some(live)) => {
                AppliedPodJob::blocked(ObservedPodJob { job: None, ..observed }, terminating(&live))
            }
            (PodJobAction::Refuse, Some(live)) => {
                AppliedPodJob::blocked(ObservedPodJob::default(), foreign_owner(&live))
            }
            (
                PodJobAction::None
                | PodJobAction::Patch(_)
                | PodJobAction::Delete
                | PodJobAction::Replace
                | PodJobAction::AwaitDeletion
                | PodJobAction::Refuse,
                _,
            ) => AppliedPodJob::done(observed),
        })
    }

    /// Deletes the Job and creates another one, if no attempt is under way. The Pods are listed past the cache, because an
    /// attempt that has just started would be lost, and one that has just succeeded would be repeated.
    async fn replace(
        &self,
        job: &VmafxJob,
        observed: ObservedPodJob,
        live: &BatchJobSnapshot,
    ) -> Result<AppliedPodJob, ApiError> {
        if !self.is_current(job).await? {
            return Ok(AppliedPodJob::Outdated);
        }
        let observed = ObservedPodJob { pods: self.live_pods(job, live).await?, ..observed };
        let TemplateProgress::Behind { failed_before } = progress(job, &observed, &self.defaults) else {
            return Ok(AppliedPodJob::done(observed));
        };
        requests::delete::<Job>(&self.client, "delete the Job", &live.identity).await?;
        self.create(job, failed_before).await
    }

    /// Whether the resource is as it was cached.
    async fn is_current(&self, job: &VmafxJob) -> Result<bool, ApiError> {
        let resource = ObjectKey::of(job);
        let current = requests::read::<VmafxJob>(&self.client, "read the VmafxJob", &resource).await?;
        Ok(current.is_some_and(|current| {
            current.uid() == job.uid()
                && current.metadata.generation == job.metadata.generation
                && current.metadata.deletion_timestamp.is_none()
                && !is_final(&current)
        }))
    }

    /// Creates the Job, if neither the resource nor the object of that name has changed since the plan was made.
    async fn create(&self, job: &VmafxJob, failed_before: i32) -> Result<AppliedPodJob, ApiError> {
        let desired = match render(job, &self.defaults, failed_before) {
            Ok(desired) => desired,
            Err(error) => {
                let obstacle = Obstacle {
                    is_final: error.is_final(),
                    ..Obstacle::new(error.reason(), error.to_string())
                };
                return Ok(AppliedPodJob::blocked(ObservedPodJob::default(), obstacle));
            }
        };
        let key = key(job);
        if !self.is_current(job).await? {
            return Ok(AppliedPodJob::Outdated);
        }
        if let Some(live) = self.read(&key).await? {
            return Ok(match plan(job, Some(&live), &TemplateProgress::UpToDate).action {
                PodJobAction::Refuse => {
                    AppliedPodJob::blocked(ObservedPodJob::default(), foreign_owner(&live))
                }
                PodJobAction::AwaitDeletion => {
                    AppliedPodJob::blocked(self.with_cached_pods(job, None), terminating(&live))
                }
                // An earlier pass or another operator created it; the next pass continues with it.
                _ => AppliedPodJob::done(self.with_cached_pods(job, Some(live))),
            });
        }
        let account = self.defaults.templates.account(PodRole::Job);
        let account = DesiredAccount::new(&key.namespace, account, PodRole::Job);
        let created = async {
            self.accounts.ensure(&account).await?;
            requests::create::<Job>(&self.client, "create the Job", &key, &desired).await
        };
        match created.await {
            Ok(created) => {
                let created = self.put(created);
                Ok(AppliedPodJob::done(self.with_cached_pods(job, Some(created))))
            }
            Err(error) if error.retry() == Retry::Slowly => {
                let obstacle = Obstacle::new(error.reason(), error.to_string());
                Ok(AppliedPodJob::blocked(ObservedPodJob::default(), obstacle))
            }
            Err(error) => Err(error),
        }
    }
}
