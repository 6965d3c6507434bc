//! The namespace of the scenario, and how it is looked at.

use std::fmt::Debug;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_api::{VmafxJob, VmafxJobStatus, VmafxModelTraining, VmafxNode};
use vmafx_testkit::wait;

use crate::clips::Clips;
use crate::kubectl::Kubectl;
use crate::outside::Outside;
use crate::platform::{PATIENCE, Platform};
use crate::release::merged;

/// As the documents call it.
pub(super) const NAMESPACE: &str = "vmafx-system";
/// The release, also as there.
pub(super) const RELEASE: &str = "vmafx";
/// The Secret with the credentials of the object store.
pub(super) const CREDENTIALS: &str = "s3-credentials";
/// The bucket.
pub(super) const BUCKET: &str = "clips";

pub(super) struct Stage<'a> {
    pub(super) platform: &'a Platform,
    pub(super) outside: &'a Outside,
    pub(super) kubectl: Kubectl,
    pub(super) jobs: Api<VmafxJob>,
    pub(super) nodes: Api<VmafxNode>,
    pub(super) trainings: Api<VmafxModelTraining>,
    pub(super) pods: Api<Pod>,
}

impl<'a> Stage<'a> {
    pub(super) async fn set(platform: &'a Platform) -> Result<Self> {
        platform.namespace(NAMESPACE).await?;
        platform.volume(NAMESPACE, &format!("{RELEASE}-controller")).await?;
        let (client, outside) = (platform.client(), platform.outside().await?);
        let stage = Self {
            platform,
            outside,
            kubectl: platform.kubectl().namespaced(NAMESPACE),
            jobs: Api::namespaced(client.clone(), NAMESPACE),
            nodes: Api::namespaced(client.clone(), NAMESPACE),
            trainings: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client, NAMESPACE),
        };
        let pairs = outside.s3().variables().into_iter().map(|(name, value)| (name, Value::from(value)));
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": CREDENTIALS },
            "stringData": pairs.collect::<serde_json::Map<_, _>>(),
        });
        stage.kubectl.apply(&secret.to_string()).await?;
        Ok(stage)
    }

    /// What the release is told: what the quick start says, and periods for people who wait.
    pub(super) fn values(&self) -> Value {
        self.platform.values(json!({
            "operator": {
                "webhook": { "enabled": true },
                "plainRegistries": [self.outside.registry()],
                "nodeDrain": "5s",
                "gracefulShutdown": "5s",
                "extraEnv": [{ "name": "VMAFX_OPERATOR_TRAINER_POLL", "value": "1s" }],
            },
            "controller": {
                "gracefulShutdown": "5s",
                "scoringRoots": [Clips::ROOT, format!("s3://{BUCKET}/")],
                "store": { "sweepInterval": "1s", "backoffBase": "1s" },
            },
        }))
    }

    /// Makes a job of this spec.
    pub(super) async fn submit(&self, name: &str, spec: Value) -> Result<()> {
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": spec,
        });
        let made = self.jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await;
        made.map(drop).with_context(|| format!("the job {name}"))
    }

    /// Makes a job about two clips, with more in its spec.
    pub(super) async fn score(&self, name: &str, clips: [&str; 2], more: Value) -> Result<()> {
        self.submit(name, merged(Clips::job(clips), more)).await
    }

    /// Waits until a job is in a phase. One that ends in another will never be.
    pub(super) async fn until_phase(&self, name: &str, phase: Phase) -> Result<VmafxJobStatus> {
        let seen = async || {
            let job: VmafxJob = self.jobs.get(name).await.map_err(|error| error.to_string())?;
            let status = job.status.unwrap_or_default();
            let ended = status.phase.is_some_and(Phase::is_last);
            if status.phase == Some(phase) || ended { Ok(status) } else { Err(format!("{status:?}")) }
        };
        let status = wait::until(PATIENCE, &format!("{name} to be {phase:?}"), seen).await?;
        same(&format!("the phase of {name} ({:?})", status.message), status.phase, Some(phase))?;
        Ok(status)
    }

    /// Waits until a job has the score that `vmafx score` gives, after the only attempt.
    pub(super) async fn until_scored(&self, name: &str, clips: [&str; 2]) -> Result<VmafxJobStatus> {
        let status = self.until_phase(name, Phase::Succeeded).await?;
        let directly = self.platform.clips().score(clips).await?;
        same(&format!("the score of {name}"), status.score, Some(directly))?;
        Ok(status)
    }

    /// The Pods that have a label.
    pub(super) async fn pods_with(&self, label: &str) -> Result<Vec<Pod>> {
        let mut pods = self.pods.list(&ListParams::default().labels(label)).await?.items;
        pods.sort_by_key(kube::ResourceExt::name_any);
        Ok(pods)
    }

    /// Waits until no Pod has a label.
    pub(super) async fn until_no_pods_with(&self, label: &str) -> Result<()> {
        let gone = async || {
            let left = self.pods_with(label).await.map_err(|error| error.to_string())?;
            if left.is_empty() { Ok(()) } else { Err(format!("{} are there", left.len())) }
        };
        Ok(wait::until(PATIENCE, &format!("no Pods with {label}"), gone).await?)
    }

    /// Changes the spec of a resource.
    pub(super) async fn change<K>(&self, api: &Api<K>, name: &str, spec: Value) -> Result<()>
    where
        K: Clone + Debug + serde::de::DeserializeOwned,
    {
        let patch = Patch::Merge(json!({ "spec": spec }));
        api.patch(name, &PatchParams::default(), &patch)
            .await
            .map(drop)
            .with_context(|| format!("change {name}"))
    }
}

/// An error that says what is not as it should be.
#[expect(clippy::needless_pass_by_value, reason = "values are read as in a sentence where it is called")]
pub(super) fn same<T: Debug + PartialEq>(what: &str, is: T, expected: T) -> Result<()> {
    ensure!(is == expected, "{what} is {is:?}, not {expected:?}");
    Ok(())
}
