//! Installs an older release, upgrades it, uninstalls it, and installs it again.
//!
//! The older release is a copy of the chart whose CRD of VmafxJob lacks a field. Helm installs CRDs only with the first
//! install, so the upgrade gets the field from the chart's hook.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context as _, Result, ensure};
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use vmafx_testkit::wait;

use super::fixture::{NAMESPACE, RELEASE, UserFixture, expect_eq};
use super::pool;
use crate::clips::Clips;
use crate::platform::STEP_TIMEOUT;
use crate::values::merge_values;

/// The field that the older release does not have.
const FIELD: &str = "ttlSecondsAfterFinished";

pub(super) async fn install_older(fixture: &UserFixture<'_>) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let helm = fixture.platform.helm();
    let chart = directory.path().join("vmafx");
    copy(helm.chart(), &chart).context("cannot copy the chart")?;
    let definition = chart.join("crds/vmafx.dev_vmafxjobs.yaml");
    fs::write(&definition, without_field(&fs::read_to_string(&definition)?)?)?;
    let notes = helm.with_chart(&chart).install(RELEASE, NAMESPACE, &fixture.values()).await?;
    ensure!(notes.contains("kind: VmafxNode"), "the notes do not say what to do next: {notes}");
    fixture.platform.until_webhook_answers(NAMESPACE).await
}

/// The CRD without the field, as JSON, which is valid YAML.
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

/// A suspended job with the field, so that the field has no effect.
fn with_field(name: &str) -> Value {
    let spec = merge_values(Clips::job(Clips::GOLDEN), json!({ FIELD: 3600, "suspend": true }));
    json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec })
}

/// The value of the field that the API server stored.
async fn stored_field(fixture: &UserFixture<'_>, name: &str) -> Result<Value> {
    Ok(fixture.kubectl.get(&["vmjob", name]).await?["spec"][FIELD].take())
}

pub(super) async fn drops_unknown_field(fixture: &UserFixture<'_>) -> Result<()> {
    let job = with_field("dropped");
    let output = fixture.kubectl.apply(&job.to_string()).await;
    let output = output.unwrap_or_else(|error| format!("{error:#}"));
    ensure!(output.contains("unknown field"), "kubectl does not report the unknown field: {output}");
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), job.to_string())?;
    let path = file.path().to_string_lossy();
    fixture.kubectl.run(&["apply", "--validate=ignore", "-f", &path]).await?;
    expect_eq("the field", stored_field(fixture, "dropped").await?, Value::Null)
}

pub(super) async fn upgrade(fixture: &UserFixture<'_>) -> Result<()> {
    fixture.platform.helm().upgrade(RELEASE, NAMESPACE, &fixture.values()).await?;
    // The hook removes its objects.
    let left = fixture.kubectl.get(&["jobs,serviceaccounts"]).await?;
    let hook = format!("{RELEASE}-crds");
    let left = left["items"]
        .as_array()
        .is_some_and(|items| items.iter().any(|one| one["metadata"]["name"] == hook.as_str()));
    ensure!(!left, "{hook} still exists");
    fixture.platform.until_webhook_answers(NAMESPACE).await
}

pub(super) async fn keeps_known_field(fixture: &UserFixture<'_>) -> Result<()> {
    fixture.kubectl.apply(&with_field("kept").to_string()).await?;
    expect_eq("the field", stored_field(fixture, "kept").await?, json!(3600))
}

/// Uninstalling removes all objects of the release, but no user resources, CRDs or stored jobs.
pub(super) async fn uninstall(fixture: &UserFixture<'_>) -> Result<()> {
    let before = Survivors::read(fixture).await?;
    fixture.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
    expect_eq("what is left", Survivors::read(fixture).await?, before)?;
    let ours = format!("--selector=app.kubernetes.io/instance={RELEASE}");
    let kinds = "deployments,services,secrets,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,\
                 validatingwebhookconfigurations";
    let left = fixture.kubectl.run(&["get", kinds, &ours, "-o", "name"]).await?;
    expect_eq("what the release left", left.trim(), "")?;
    Ok(())
}

/// Objects that must survive the removal of a release.
#[derive(Debug, PartialEq)]
struct Survivors {
    definitions: Vec<String>,
    /// UID, phase, score and attempts of each.
    jobs: Vec<[String; 4]>,
    nodes: Vec<String>,
    claim: String,
    workers: Vec<(String, String)>,
}

impl Survivors {
    async fn read(fixture: &UserFixture<'_>) -> Result<Self> {
        let names = async |words: &[&str]| anyhow::Ok(listed(&fixture.kubectl.get(words).await?, uid));
        let definitions = ["vmafxjobs", "vmafxnodes", "vmafxmodeltrainings", "vmafxtenants"]
            .map(|kind| format!("{kind}.vmafx.dev"));
        let [jobs, nodes, trainings, tenants] = &definitions;
        let claim = fixture.kubectl.get(&["pvc", &format!("{RELEASE}-controller")]).await?;
        Ok(Self {
            definitions: names(&["crd", jobs, nodes, trainings, tenants]).await?,
            jobs: listed(&fixture.kubectl.get(&["vmjob"]).await?, |job| {
                let status = |name: &str| job["status"][name].to_string();
                [uid(job), status("phase"), status("score"), status("attempts")]
            }),
            nodes: names(&["vmnode"]).await?,
            claim: uid(&claim),
            workers: pool::workers(fixture).await?,
        })
    }
}

fn listed<T>(list: &Value, what: impl Fn(&Value) -> T) -> Vec<T> {
    list["items"].as_array().map(|items| items.iter().map(what).collect()).unwrap_or_default()
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

pub(super) async fn reinstall(fixture: &UserFixture<'_>) -> Result<()> {
    let before = Survivors::read(fixture).await?;
    fixture.platform.helm().install(RELEASE, NAMESPACE, &fixture.values()).await?;
    fixture.platform.until_webhook_answers(NAMESPACE).await?;
    fixture.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    expect_eq("what was there before", Survivors::read(fixture).await?, before)?;
    // The controller still has the job, so it accepts a label for it.
    fixture.patch_spec(&fixture.jobs, "first", json!({ "groundTruth": 77.0 })).await?;
    let labelled = async || {
        let job = fixture.jobs.get("first").await.map_err(|error| error.to_string())?;
        let truth = job.status.and_then(|status| status.ground_truth);
        if truth == Some(77.0) { Ok(()) } else { Err(format!("{truth:?}")) }
    };
    wait::until(STEP_TIMEOUT, "the label of a job from before the reinstallation to be accepted", labelled)
        .await?;
    fixture.submit_pair("after", Clips::GOLDEN, json!({})).await?;
    fixture.until_scored("after", Clips::GOLDEN).await.map(drop)
}

pub(super) async fn clean_up(fixture: &UserFixture<'_>) -> Result<()> {
    // One request for all: kubectl would wait for the deletion of each job.
    fixture.jobs.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    pool::remove(fixture).await?;
    fixture.platform.helm().uninstall(RELEASE, NAMESPACE).await?;
    fixture.platform.remove(NAMESPACE).await
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
