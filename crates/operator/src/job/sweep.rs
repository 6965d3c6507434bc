//! Cancels jobs of the controller that no resource wants: it was deleted while no operator ran, or it has another job.
//!
//! There are no finalizers, so that a deletion never waits for the operator. The reconciler cancels the job of a resource
//! that is deleted while this operator runs; the sweep finds all others.

use std::convert::Infallible;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{Api, Client};
use vmafx_api::VmafxJob;
use vmafx_job::CancelCause;
use vmafx_kit::causes::chain;
use vmafx_kit::tasks::{BoxError, Shutdown};
use vmafx_proto::controller::v1::{Job, ResourceRef};

use super::CachedJob;
use super::controller_client::ControllerClient;
use super::metrics::JobMetrics;
use super::plan::is_final;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;
use crate::runtime::{Cache, Cached as _};

const SWEEP_INTERVAL: Duration = Duration::from_mins(3);

const RETRY_DELAY: Duration = Duration::from_secs(10);

const MAX_CONCURRENT_CHECKS: usize = 8;

/// The status of a resource may not name a job yet that is younger than this.
const RECORDING_GRACE: SignedDuration = SignedDuration::from_mins(5);

pub struct Sweeper {
    pub controller: ControllerClient,
    pub client: Client,
    pub jobs: Cache<CachedJob>,
    pub metrics: JobMetrics,
}

impl Sweeper {
    /// Sweeps at once and then every few minutes, until shutdown.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), Infallible> {
        let sweeping = async {
            loop {
                let delay = match self.sweep().await {
                    Ok(0) => SWEEP_INTERVAL,
                    Ok(cancelled) => {
                        tracing::info!(cancelled, "cancelled jobs whose VmafxJob is gone");
                        SWEEP_INTERVAL
                    }
                    Err(error) => {
                        tracing::warn!(
                            problem = chain(error.as_ref()),
                            "cannot search for jobs whose VmafxJob is gone"
                        );
                        RETRY_DELAY
                    }
                };
                tokio::time::sleep(delay).await;
            }
        };
        shutdown.run_until_begun(sweeping).await.unwrap_or(Ok(()))
    }

    /// Returns how many jobs were cancelled.
    async fn sweep(&self) -> Result<usize, BoxError> {
        let (mut cancelled, mut token) = (0, String::new());
        loop {
            let (page, next) = self.controller.open_jobs(token).await.map_err(|outage| outage.message)?;
            let suspects = page.into_iter().filter(|job| self.may_be_orphaned(job));
            let mut checks =
                stream::iter(suspects).map(|job| self.check(job)).buffer_unordered(MAX_CONCURRENT_CHECKS);
            while let Some(check) = checks.next().await {
                cancelled += usize::from(check?);
            }
            if next.is_empty() {
                return Ok(cancelled);
            }
            token = next;
        }
    }

    /// Whether no cached resource wants the job. The cache may be outdated.
    fn may_be_orphaned(&self, job: &Job) -> bool {
        let Some(origin) = job.origin.as_ref().filter(|origin| !origin.uid.is_empty()) else { return false };
        let cached = self.jobs.get(&key(origin));
        let cached = cached.as_ref().filter(|cached| cached.uid() == origin.uid);
        let resource = cached.and_then(|cached| cached.open());
        resource.is_none_or(|resource| !wants(resource, job, Timestamp::now()))
    }

    /// Reads the resource itself and cancels the job if the resource does not want it.
    async fn check(&self, job: Job) -> Result<bool, BoxError> {
        let Some(origin) = job.origin.as_ref() else { return Ok(false) };
        let api: Api<VmafxJob> = Api::namespaced(self.client.clone(), &origin.namespace);
        let live = match call("read the VmafxJob", api.get_opt(&origin.name)).await {
            // The resource exists but cannot be decoded, so whether it wants the job is unknown.
            Err(ApiError::Failed { source: kube::Error::SerdeError(_), .. }) => return Ok(false),
            live => live?,
        };
        if live.is_some_and(|resource| wants(&resource, &job, Timestamp::now())) {
            return Ok(false);
        }
        self.controller.cancel(&job.id, CancelCause::ResourceGone).await.map_err(|outage| outage.message)?;
        self.metrics.swept.inc();
        Ok(true)
    }
}

fn wants(resource: &VmafxJob, job: &Job, now: Timestamp) -> bool {
    let same = resource.metadata.uid.as_deref() == job.origin.as_ref().map(|origin| origin.uid.as_str());
    if !same || resource.metadata.deletion_timestamp.is_some() || is_final(resource) {
        return false;
    }
    let recorded = resource.status.as_ref().and_then(|status| status.controller_job_id.as_deref());
    let created = Timestamp::from_second(job.created_at).unwrap_or(now);
    recorded.is_none_or(|id| id == job.id) || now.duration_since(created) < RECORDING_GRACE
}

fn key(origin: &ResourceRef) -> ObjectKey {
    ObjectKey::new(origin.namespace.clone(), origin.name.clone())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const NOW: i64 = 1_000_000;

    #[rstest]
    #[case::recorded("u", json!({ "controllerJobID": "7" }), 900, true)]
    #[case::none_recorded("u", json!({}), 900, true)]
    #[case::another_recorded("u", json!({ "controllerJobID": "6" }), 900, false)]
    #[case::another_recorded_yet("u", json!({ "controllerJobID": "6" }), 60, true)]
    #[case::a_namesake("v", json!({}), 1, false)]
    #[case::ended("u", json!({ "conditions": [{ "type": "Complete", "status": "True", "reason": "Scored",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] }), 1, false)]
    fn what_a_resource_wants(
        #[case] uid: &str,
        #[case] status: Value,
        #[case] age: i64,
        #[case] expected: bool,
    ) {
        let resource: VmafxJob = serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
            "metadata": { "name": "j", "namespace": "video", "uid": uid },
            "spec": { "reference": "file:///r", "distorted": "file:///d" }, "status": status,
        }))
        .unwrap();
        let origin = ResourceRef { uid: "u".to_owned(), ..ResourceRef::default() };
        let job = Job { id: "7".to_owned(), origin: Some(origin), created_at: NOW - age, ..Job::default() };
        assert_eq!(wants(&resource, &job, Timestamp::from_second(NOW).unwrap()), expected);
    }
}
