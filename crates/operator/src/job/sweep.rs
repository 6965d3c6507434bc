//! Cancels jobs of the controller that no resource wants: it was deleted while no operator ran, or it has another job.
//!
//! There are no finalizers, so that a deletion never waits for the operator. The reconciler cancels the job of a resource
//! that is deleted while this operator runs; the sweep finds all others. It ends a job only if it is certain that nobody
//! wants it ([`super::orphan`]), and no job keeps it from the others: one that cannot be judged is counted and skipped.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client};
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_job::CancelCause;
use vmafx_kit::causes::chain;
use vmafx_kit::metrics::LabelSet;
use vmafx_kit::tasks::{BoxError, Shutdown};
use vmafx_proto::controller::v1::Job;

use super::CachedJob;
use super::metrics::{JobMetrics, SweepSkip};
use super::observe::Explanation;
use super::orphan::{SweptOrigin, origin, wants};
use super::scope::{JobScope, JobScopes};
use super::tracked::TrackedJobs;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;
use crate::runtime::Cache;

const SWEEP_INTERVAL: Duration = Duration::from_mins(3);

const RETRY_DELAY: Duration = Duration::from_secs(10);

const MAX_CONCURRENT_CHECKS: usize = 8;

pub struct Sweeper {
    pub scopes: JobScopes,
    pub client: Client,
    pub jobs: Cache<CachedJob>,
    pub tracked: TrackedJobs,
    pub metrics: JobMetrics,
}

/// What one sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SweepCounts {
    cancelled: usize,
    failed: usize,
}

impl Sweeper {
    /// Sweeps at once and then every few minutes, until shutdown.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), Infallible> {
        let sweeping = async {
            loop {
                let delay = match self.sweep().await {
                    Ok(counts) => {
                        self.metrics.sweeps.inc();
                        if counts.cancelled > 0 {
                            let cancelled = counts.cancelled;
                            tracing::info!(cancelled, "cancelled jobs whose VmafxJob is gone");
                        }
                        if counts.failed > 0 { RETRY_DELAY } else { SWEEP_INTERVAL }
                    }
                    Err(problem) => {
                        tracing::warn!(problem, "cannot search for jobs whose VmafxJob is gone");
                        RETRY_DELAY
                    }
                };
                tokio::time::sleep(delay).await;
            }
        };
        shutdown.run_until_begun(sweeping).await.unwrap_or(Ok(()))
    }

    async fn sweep(&self) -> Result<SweepCounts, String> {
        let mut counts = SweepCounts::default();
        let scopes = self.scopes_to_sweep().await?;
        let mut denied = Vec::new();
        for scope in &scopes {
            match self.sweep_scope(scope, &mut counts).await {
                // A namespace without a tenant has no jobs, and must not keep the sweep from the others.
                Err(Explanation { reason: Reason::Forbidden, message }) => denied.push(message),
                swept => swept.map_err(|explanation| explanation.message)?,
            }
        }
        match denied.pop() {
            // The operator lacks a role rather than a namespace its tenant.
            Some(message) if denied.len() + 1 == scopes.len() => Err(message),
            _ => Ok(counts),
        }
    }

    /// The jobs of a namespace whose resources were all deleted have to be found too, so every namespace is swept.
    async fn scopes_to_sweep(&self) -> Result<Vec<JobScope>, String> {
        if !self.scopes.is_per_namespace() {
            return Ok(vec![self.scopes.get("")]);
        }
        let api: Api<Namespace> = Api::all(self.client.clone());
        let namespaces = call("list the namespaces", api.list_metadata(&ListParams::default())).await;
        let namespaces = namespaces.map_err(|error| chain(&error))?;
        let names: BTreeSet<_> = namespaces.items.into_iter().filter_map(|one| one.metadata.name).collect();
        // An open scope may be that of a namespace that was deleted meanwhile.
        let deleted = self
            .scopes
            .all_open()
            .into_iter()
            .filter(|scope| !names.iter().any(|name| scope.has_namespace(name)));
        Ok(names.iter().map(|name| self.scopes.get(name)).chain(deleted).collect())
    }

    async fn sweep_scope(&self, scope: &JobScope, counts: &mut SweepCounts) -> Result<(), Explanation> {
        let mut token = String::new();
        loop {
            let (page, next) =
                scope.controller.open_jobs(token).await.map_err(|outage| outage.explanation)?;
            let suspects = page.into_iter().filter_map(|job| self.suspect(scope, job));
            let mut checks = stream::iter(suspects)
                .map(|suspect| self.check(scope, suspect))
                .buffer_unordered(MAX_CONCURRENT_CHECKS);
            while let Some((id, check)) = checks.next().await {
                match check {
                    Ok(cancelled) => counts.cancelled += usize::from(cancelled),
                    Err(error) => {
                        counts.failed += 1;
                        self.skip(SweepSkip::Failed);
                        let problem = chain(error.as_ref());
                        tracing::warn!(job = id, problem, "cannot check whether a VmafxJob wants the job");
                    }
                }
            }
            if next.is_empty() {
                return Ok(());
            }
            token = next;
        }
    }

    /// The job with its resource's key, if no cached resource wants the job. The cache may be outdated.
    fn suspect(&self, scope: &JobScope, job: Job) -> Option<(Job, ObjectKey)> {
        let key = match origin(&job) {
            SweptOrigin::None => return None,
            SweptOrigin::Unreadable => {
                tracing::debug!(job = job.id, origin = ?job.origin, "the origin of the job names no VmafxJob");
                self.skip(SweepSkip::Unreadable);
                return None;
            }
            SweptOrigin::Resource(key) => key,
        };
        if !scope.has_namespace(&key.namespace) {
            self.skip(SweepSkip::Foreign);
            return None;
        }
        let cached = self.jobs.get(&key);
        if cached.as_ref().and_then(|cached| cached.open()).is_some_and(|one| self.is_wanted(one, &key, &job))
        {
            return None;
        }
        if !scope.controller.submitted(&job) {
            self.skip(SweepSkip::Foreign);
            return None;
        }
        Some((job, key))
    }

    fn is_wanted(&self, resource: &VmafxJob, key: &ObjectKey, job: &Job) -> bool {
        let tracked = self.tracked.find(key, resource.metadata.uid.as_deref().unwrap_or_default());
        wants(resource, tracked.as_ref(), job, Timestamp::now())
    }

    /// Returns the id of the job and whether it was cancelled.
    async fn check(
        &self,
        scope: &JobScope,
        (job, key): (Job, ObjectKey),
    ) -> (String, Result<bool, BoxError>) {
        let cancelled = self.cancel_unless_wanted(scope, &job, &key).await;
        (job.id, cancelled)
    }

    /// Reads the resource itself and cancels the job if the resource does not want it.
    async fn cancel_unless_wanted(
        &self,
        scope: &JobScope,
        job: &Job,
        key: &ObjectKey,
    ) -> Result<bool, BoxError> {
        let api: Api<VmafxJob> = Api::namespaced(self.client.clone(), &key.namespace);
        let live = match call("read the VmafxJob", api.get_opt(&key.name)).await {
            // The resource exists but cannot be decoded, so whether it wants the job is unknown.
            Err(ApiError::Failed { source: kube::Error::SerdeError(_), .. }) => return Ok(false),
            live => live?,
        };
        if live.is_some_and(|resource| self.is_wanted(&resource, key, job)) {
            return Ok(false);
        }
        let cancelled = scope.controller.cancel(&job.id, CancelCause::ResourceGone).await;
        cancelled.map_err(|failure| failure.into_explanation().message)?;
        self.metrics.swept.inc();
        Ok(true)
    }

    fn skip(&self, reason: SweepSkip) {
        self.metrics.sweep_skipped.get_or_create(&LabelSet((reason,))).inc();
    }
}
