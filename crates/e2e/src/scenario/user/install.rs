//! The life of a release: an older one, this one, none, and this one again.
//!
//! The older one is a copy of the chart whose definition of VmafxJob lacks a field. Helm installs definitions with the
//! first install only, so that the field appears is the work of the chart's hook.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context as _, Result, ensure};
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use vmafx_testkit::wait;

use super::pool;
use super::stage::{NAMESPACE, RELEASE, Stage, same};
use crate::clips::Clips;
use crate::platform::PATIENCE;
use crate::release::merged;

/// The field that the older release does not know.
const FIELD: &str = "ttlSecondsAfterFinished";

pub(super) async fn older(stage: &Stage<'_>) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let helm = stage.platform.helm();
    let chart = directory.path().join("vmafx");
    copy(helm.chart(), &chart).context("a copy of the chart")?;
    let definition = chart.join("crds/vmafx.dev_vmafxjobs.yaml");
    fs::write(&definition, without_field(&fs::read_to_string(&definition)?)?)?;
    let notes = helm.with_chart(&chart).install(RELEASE, NAMESPACE, &stage.values()).await?;
    ensure!(notes.contains("kind: VmafxNode"), "the notes do not say what to do next: {notes}");
    stage.platform.answered(NAMESPACE).await
}

/// Definitions are JSON here, which is YAML too.
fn without_field(definition: &str) -> Result<String> {
    let mut definition: Value = serde_saphyr::from_str(definition).context("the definition")?;
    let versions = definition["spec"]["versions"].as_array_mut().context("no versions")?;
    for version in versions {
        let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        let fields = spec.as_object_mut().context("no fields")?;
        fields.remove(FIELD).with_context(|| format!("no field {FIELD}"))?;
    }
    Ok(definition.to_string())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (source, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name())))?;
        if source.is_dir() { copy(&source, &target)? } else { fs::copy(&source, &target).map(drop)? }
    }
    Ok(())
}

/// A job that waits for ever, so that the field has no effect yet.
fn with_field(name: &str) -> Value {
    let spec = merged(Clips::job(Clips::GOLDEN), json!({ FIELD: 3600, "suspend": true }));
    json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec })
}

/// What the API server keeps of the field.
async fn kept(stage: &Stage<'_>, name: &str) -> Result<Value> {
    Ok(stage.kubectl.get(&["vmjob", name]).await?["spec"][FIELD].take())
}

pub(super) async fn unknown(stage: &Stage<'_>) -> Result<()> {
    let job = with_field("dropped");
    let told = stage.kubectl.apply(&job.to_string()).await;
    let told = told.unwrap_or_else(|error| format!("{error:#}"));
    ensure!(told.contains("unknown field"), "kubectl does not say that it is unknown: {told}");
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), job.to_string())?;
    let path = file.path().to_string_lossy();
    stage.kubectl.run(&["apply", "--validate=ignore", "-f", &path]).await?;
    same("the field", kept(stage, "dropped").await?, Value::Null)
}

pub(super) async fn upgrade(stage: &Stage<'_>) -> Result<()> {
    stage.platform.helm().upgrade(RELEASE, NAMESPACE, &stage.values()).await?;
    // The hook leaves nothing behind.
    let left = stage.kubectl.get(&["jobs,serviceaccounts"]).await?;
    let hook = format!("{RELEASE}-crds");
    let left = left["items"]
        .as_array()
        .is_some_and(|items| items.iter().any(|one| one["metadata"]["name"] == hook.as_str()));
    ensure!(!left, "{hook} is still there");
    stage.platform.answered(NAMESPACE).await
}

pub(super) async fn known(stage: &Stage<'_>) -> Result<()> {
    stage.kubectl.apply(&with_field("kept").to_string()).await?;
    same("the field", kept(stage, "kept").await?, json!(3600))
}

/// Everything that the release is made of goes; what users made and what was stored stays.
pub(super) async fn uninstall(stage: &Stage<'_>) -> Result<()> {
    let before = Kept::read(stage).await?;
    stage.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
    same("what is left", Kept::read(stage).await?, before)?;
    let ours = format!("--selector=app.kubernetes.io/instance={RELEASE}");
    let kinds = "deployments,services,secrets,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,\
                 validatingwebhookconfigurations";
    let left = stage.kubectl.run(&["get", kinds, &ours, "-o", "name"]).await?;
    same("what the release left", left.trim(), "")?;
    Ok(())
}

/// What must outlive a release.
#[derive(Debug, PartialEq)]
struct Kept {
    definitions: Vec<String>,
    /// Each with its UID, score and attempts.
    jobs: Vec<[String; 4]>,
    nodes: Vec<String>,
    claim: String,
    workers: Vec<(String, String)>,
}

impl Kept {
    async fn read(stage: &Stage<'_>) -> Result<Self> {
        let names = async |words: &[&str]| anyhow::Ok(listed(&stage.kubectl.get(words).await?, uid));
        let definitions =
            ["vmafxjobs", "vmafxnodes", "vmafxmodeltrainings"].map(|kind| format!("{kind}.vmafx.dev"));
        let [jobs, nodes, trainings] = &definitions;
        let claim = stage.kubectl.get(&["pvc", &format!("{RELEASE}-controller")]).await?;
        Ok(Self {
            definitions: names(&["crd", jobs, nodes, trainings]).await?,
            jobs: listed(&stage.kubectl.get(&["vmjob"]).await?, |job| {
                let status = |name: &str| job["status"][name].to_string();
                [uid(job), status("phase"), status("score"), status("attempts")]
            }),
            nodes: names(&["vmnode"]).await?,
            claim: uid(&claim),
            workers: pool::workers(stage).await?,
        })
    }
}

fn listed<T>(list: &Value, what: impl Fn(&Value) -> T) -> Vec<T> {
    list["items"].as_array().map(|items| items.iter().map(what).collect()).unwrap_or_default()
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

pub(super) async fn again(stage: &Stage<'_>) -> Result<()> {
    let before = Kept::read(stage).await?;
    stage.platform.helm().install(RELEASE, NAMESPACE, &stage.values()).await?;
    stage.platform.answered(NAMESPACE).await?;
    stage.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    same("what was there before", Kept::read(stage).await?, before)?;
    // The controller still has the job: it takes an opinion of it.
    stage.change(&stage.jobs, "first", json!({ "groundTruth": 77.0 })).await?;
    let taken = async || {
        let job = stage.jobs.get("first").await.map_err(|error| error.to_string())?;
        let truth = job.status.and_then(|status| status.ground_truth);
        if truth == Some(77.0) { Ok(()) } else { Err(format!("{truth:?}")) }
    };
    wait::until(PATIENCE, "the opinion of a job of the last release to be taken", taken).await?;
    stage.score("after", Clips::GOLDEN, json!({})).await?;
    stage.until_scored("after", Clips::GOLDEN).await.map(drop)
}

pub(super) async fn leave(stage: &Stage<'_>) -> Result<()> {
    // At once: kubectl would ask for the end of each by itself.
    stage.jobs.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    pool::remove(stage).await?;
    stage.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
    stage.platform.remove(NAMESPACE).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::Images;

    #[test]
    fn the_older_definition_lacks_the_field_and_nothing_else() {
        let file = Images::chart().join("crds/vmafx.dev_vmafxjobs.yaml");
        let definition = fs::read_to_string(file).unwrap();
        let now: Value = serde_saphyr::from_str(&definition).unwrap();
        let mut before: Value = serde_json::from_str(&without_field(&definition).unwrap()).unwrap();
        assert_ne!(before, now);
        let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        let field = now.pointer(path).unwrap()[FIELD].clone();
        before.pointer_mut(path).unwrap()[FIELD] = field;
        assert_eq!(before, now);
    }
}
