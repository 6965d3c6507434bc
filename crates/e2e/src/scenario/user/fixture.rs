//! The namespace of the scenario, and helpers that create, change and observe its resources.

use std::fmt::Debug;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_api::{VmafxJob, VmafxJobStatus, VmafxModelTraining, VmafxNode};
use vmafx_testkit::wait;

use super::dashboard;
use crate::clips::Clips;
use crate::external::ExternalServices;
use crate::kubectl::Kubectl;
use crate::platform::{Platform, STEP_TIMEOUT};
use crate::values::merge_values;

/// The namespace and the release have the names that the documents use.
pub(super) const NAMESPACE: &str = "vmafx-system";
pub(super) const RELEASE: &str = "vmafx";
/// Secret with the credentials of the object store.
pub(super) const CREDENTIALS: &str = "s3-credentials";
pub(super) const BUCKET: &str = "clips";

pub(super) struct UserFixture<'a> {
    pub(super) platform: &'a Platform,
    pub(super) external: &'a ExternalServices,
    pub(super) kubectl: Kubectl,
    pub(super) jobs: Api<VmafxJob>,
    pub(super) nodes: Api<VmafxNode>,
    pub(super) trainings: Api<VmafxModelTraining>,
    pub(super) pods: Api<Pod>,
}

impl<'a> UserFixture<'a> {
    pub(super) async fn set_up(platform: &'a Platform) -> Result<Self> {
        platform.namespace(NAMESPACE).await?;
        platform.volume(NAMESPACE, &format!("{RELEASE}-controller")).await?;
        let (client, external) = (platform.client(), platform.external_services().await?);
        let fixture = Self {
            platform,
            external,
            kubectl: platform.kubectl().namespaced(NAMESPACE),
            jobs: Api::namespaced(client.clone(), NAMESPACE),
            nodes: Api::namespaced(client.clone(), NAMESPACE),
            trainings: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client, NAMESPACE),
        };
        let pairs = external.s3().variables().into_iter().map(|(name, value)| (name, Value::from(value)));
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": CREDENTIALS },
            "stringData": pairs.collect::<serde_json::Map<_, _>>(),
        });
        fixture.kubectl.apply(&secret.to_string()).await?;
        Ok(fixture)
    }

    /// The values of the quick start, with shorter periods.
    pub(super) fn values(&self) -> Value {
        self.platform.values(json!({
            "auth": { "subjects": dashboard::subjects() },
            "operator": {
                "webhook": { "enabled": true },
                "plainRegistries": [self.external.registry()],
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

    pub(super) async fn submit(&self, name: &str, spec: Value) -> Result<()> {
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": spec,
        });
        let created = self.jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await;
        created.map(drop).with_context(|| format!("cannot create the job {name}"))
    }

    /// Creates a job for two clips, with `extra` fields in its spec.
    pub(super) async fn submit_pair(&self, name: &str, clips: [&str; 2], extra: Value) -> Result<()> {
        self.submit(name, merge_values(Clips::job(clips), extra)).await
    }

    /// Waits until a job is in a phase; an error if it ends in another one.
    pub(super) async fn until_phase(&self, name: &str, phase: Phase) -> Result<VmafxJobStatus> {
        let reached = async || {
            let job: VmafxJob = self.jobs.get(name).await.map_err(|error| error.to_string())?;
            let status = job.status.unwrap_or_default();
            let ended = status.phase.is_some_and(Phase::is_last);
            if status.phase == Some(phase) || ended { Ok(status) } else { Err(format!("{status:?}")) }
        };
        let status = wait::until(STEP_TIMEOUT, &format!("{name} to be {phase:?}"), reached).await?;
        expect_eq(&format!("the phase of {name} ({:?})", status.message), status.phase, Some(phase))?;
        Ok(status)
    }

    /// Waits until a job has the score that `vmafx score` gives.
    pub(super) async fn until_scored(&self, name: &str, clips: [&str; 2]) -> Result<VmafxJobStatus> {
        let status = self.until_phase(name, Phase::Succeeded).await?;
        let expected = self.platform.clips().score(clips).await?;
        expect_eq(&format!("the score of {name}"), status.score, Some(expected))?;
        Ok(status)
    }

    /// The Pods with a label, sorted by name.
    pub(super) async fn pods_with(&self, label: &str) -> Result<Vec<Pod>> {
        let mut pods = self.pods.list(&ListParams::default().labels(label)).await?.items;
        pods.sort_by_key(kube::ResourceExt::name_any);
        Ok(pods)
    }

    /// Waits until no Pod has a label.
    pub(super) async fn until_no_pods_with(&self, label: &str) -> Result<()> {
        let gone = async || {
            let left = self.pods_with(label).await.map_err(|error| error.to_string())?;
            if left.is_empty() { Ok(()) } else { Err(format!("{} are left", left.len())) }
        };
        Ok(wait::until(STEP_TIMEOUT, &format!("no Pods with {label}"), gone).await?)
    }

    /// Merges fields into the spec of a resource.
    pub(super) async fn patch_spec<K>(&self, api: &Api<K>, name: &str, spec: Value) -> Result<()>
    where
        K: Clone + Debug + serde::de::DeserializeOwned,
    {
        let patch = Patch::Merge(json!({ "spec": spec }));
        api.patch(name, &PatchParams::default(), &patch)
            .await
            .map(drop)
            .with_context(|| format!("cannot change {name}"))
    }
}

/// An error that names what differs from its expected value.
#[expect(clippy::needless_pass_by_value, reason = "callers pass temporary values")]
pub(super) fn expect_eq<T: Debug + PartialEq>(what: &str, actual: T, expected: T) -> Result<()> {
    ensure!(actual == expected, "{what} is {actual:?}, not {expected:?}");
    Ok(())
}
