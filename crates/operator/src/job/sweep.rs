//! Ends jobs whose resource is gone: deleted while nobody looked, or ended in another way.
//!
//! There are no finalizers, so that a deletion never waits for us. What is deleted while this operator looks is cancelled
//! at once by its reconcile; this is for everything else.

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

use super::Seen;
use super::link::Link;
use super::metrics::JobMetrics;
use super::plan::is_final;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;
use crate::runtime::{Cache, Cached as _};

/// Between two sweeps.
const EVERY: Duration = Duration::from_mins(3);

/// After one that failed.
const AGAIN: Duration = Duration::from_secs(10);

/// Jobs ended at a time.
const AT_ONCE: usize = 8;

/// A job this young may be one that its resource does not name yet.
const YOUNG: SignedDuration = SignedDuration::from_mins(5);

/// Looks for jobs that nobody wants.
pub struct Sweeper {
    /// The controller.
    pub link: Link,
    /// The way to the API server.
    pub client: Client,
    /// The resources.
    pub jobs: Cache<Seen>,
    /// What is counted.
    pub metrics: JobMetrics,
}

impl Sweeper {
    /// Sweeps now and every few minutes, until shutdown.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), Infallible> {
        let sweeping = async {
            loop {
                let pause = match self.sweep().await {
                    Ok(0) => EVERY,
                    Ok(ended) => {
                        tracing::info!(ended, "jobs were ended whose VmafxJob is gone");
                        EVERY
                    }
                    Err(error) => {
                        tracing::warn!(
                            problem = chain(error.as_ref()),
                            "cannot look for jobs that nobody wants"
                        );
                        AGAIN
                    }
                };
                tokio::time::sleep(pause).await;
            }
        };
        shutdown.run_until_begun(sweeping).await.unwrap_or(Ok(()))
    }

    /// How many jobs were ended.
    async fn sweep(&self) -> Result<usize, BoxError> {
        let (mut ended, mut token) = (0, String::new());
        loop {
            let (page, next) = self.link.open_jobs(token).await.map_err(|why| why.message)?;
            let doubtful = page.into_iter().filter(|job| self.is_doubtful(job));
            let mut looks = stream::iter(doubtful).map(|job| self.look(job)).buffer_unordered(AT_ONCE);
            while let Some(look) = looks.next().await {
                ended += usize::from(look?);
            }
            if next.is_empty() {
                return Ok(ended);
            }
            token = next;
        }
    }

    /// Whether a job may be one that nobody wants, by what is known here.
    fn is_doubtful(&self, job: &Job) -> bool {
        let Some(origin) = job.origin.as_ref().filter(|origin| !origin.uid.is_empty()) else { return false };
        let seen = self.jobs.get(&key(origin));
        let Some(resource) =
            seen.as_ref().filter(|seen| seen.uid() == origin.uid).and_then(|seen| seen.open())
        else {
            return true;
        };
        !wants(resource, job, Timestamp::now())
    }

    /// Looks at the resource itself, and ends the job if it does not want it.
    async fn look(&self, job: Job) -> Result<bool, BoxError> {
        let Some(origin) = job.origin.as_ref() else { return Ok(false) };
        let api: Api<VmafxJob> = Api::namespaced(self.client.clone(), &origin.namespace);
        let live = match call("read the VmafxJob", api.get_opt(&origin.name)).await {
            // It is there, and what it wants is not known here.
            Err(ApiError::Failed { source: kube::Error::SerdeError(_), .. }) => return Ok(false),
            live => live?,
        };
        if live.is_some_and(|resource| wants(&resource, &job, Timestamp::now())) {
            return Ok(false);
        }
        self.link.cancel(&job.id, CancelCause::ResourceGone).await.map_err(|why| why.message)?;
        self.metrics.swept.inc();
        Ok(true)
    }
}

/// Whether a resource wants a job.
fn wants(resource: &VmafxJob, job: &Job, now: Timestamp) -> bool {
    let same = resource.metadata.uid.as_deref() == job.origin.as_ref().map(|origin| origin.uid.as_str());
    if !same || resource.metadata.deletion_timestamp.is_some() || is_final(resource) {
        return false;
    }
    let recorded = resource.status.as_ref().and_then(|status| status.controller_job_id.as_deref());
    let created = Timestamp::from_second(job.created_at).unwrap_or(now);
    recorded.is_none_or(|id| id == job.id) || now.duration_since(created) < YOUNG
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
