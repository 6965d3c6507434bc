//! Creates, writes and watches `VmafxJobs` at as little cost as possible.

use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{NotUsed, Object};
use kube::discovery::ApiResource;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vmafx_api::VmafxJob;

use crate::Problem;

const CONCURRENT_REQUESTS: usize = 16;
const NAMESPACE: &str = "default";

/// A job with nothing but its phase.
type Slim = Object<NotUsed, SlimStatus>;

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct SlimStatus {
    #[serde(default)]
    phase: String,
}

pub(crate) struct Cluster {
    jobs: Api<VmafxJob>,
    slim: Api<Slim>,
}

impl Cluster {
    pub(crate) async fn connect() -> Result<Self, Problem> {
        let client = Client::try_default().await?;
        let resource = ApiResource::erase::<VmafxJob>(&());
        Ok(Self {
            jobs: Api::namespaced(client.clone(), NAMESPACE),
            slim: Api::namespaced_with(client, NAMESPACE, &resource),
        })
    }

    /// Creates `number` jobs with this name prefix as fast as possible.
    pub(crate) async fn create(&self, prefix: &str, number: usize, backend: &str) -> Result<(), Problem> {
        self.each(number, |index| async move { self.create_one(&format!("{prefix}-{index}"), backend).await })
            .await
    }

    pub(crate) async fn create_one(&self, name: &str, backend: &str) -> Result<(), Problem> {
        let job: VmafxJob = serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name },
            "spec": {
                "reference": "file:///clips/reference.y4m",
                "distorted": "file:///clips/distorted.y4m",
                "backend": backend,
                "model": "vmaf_v0.6.1",
            },
        }))?;
        self.jobs.create(&PostParams::default(), &job).await?;
        Ok(())
    }

    /// Writes a status by a merge patch, which is cheaper than server-side apply.
    pub(crate) async fn write(&self, name: &str, status: &Value) -> Result<(), Problem> {
        let patch = Patch::Merge(json!({ "status": status }));
        self.slim.patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Runs `action` for each number, some of them concurrently.
    pub(crate) async fn each<F>(&self, number: usize, action: impl Fn(usize) -> F) -> Result<(), Problem>
    where
        F: Future<Output = Result<(), Problem>>,
    {
        stream::iter(0..number).map(Ok).try_for_each_concurrent(CONCURRENT_REQUESTS, action).await
    }

    /// Names of jobs that succeed from now on; existing jobs are not even listed.
    pub(crate) async fn succeeded(
        &self,
    ) -> Result<impl Stream<Item = Result<String, Problem>> + use<>, Problem> {
        let latest = self.slim.list_metadata(&ListParams::default().limit(1)).await?;
        let from = latest.metadata.resource_version.unwrap_or_default();
        let events = self.slim.watch(&WatchParams::default(), &from).await?;
        Ok(events.filter_map(async |event| match event {
            Ok(WatchEvent::Added(job) | WatchEvent::Modified(job)) => {
                let done = job.status.is_some_and(|status| status.phase == "Succeeded");
                job.metadata.name.filter(|_| done).map(Ok)
            }
            Ok(_) => None,
            Err(error) => Some(Err(error.into())),
        }))
    }
}
