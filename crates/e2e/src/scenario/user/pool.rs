//! The workers of a VmafxNode start, scale, pause and resume.

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use serde_json::json;

use super::fixture::{CREDENTIALS, UserFixture, expect_eq};
use crate::clips::Clips;
use crate::values::merge_values;

const POOL: &str = "pool";
const WORKERS: &str = "vmafx.dev/workload=vmafx-node-pool";

/// Creates a VmafxNode with the clips from a claim and credentials from a Secret.
pub(super) async fn register(fixture: &UserFixture<'_>) -> Result<()> {
    let credentials = json!([{ "secretRef": { "name": CREDENTIALS } }]);
    let mut template = Clips::pod_template();
    let agent = &mut template["spec"]["containers"][0];
    *agent = merge_values(agent.take(), json!({ "envFrom": credentials }));
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": POOL, "labels": { "lab": "a" } },
        "spec": { "gpuVendor": "cpu", "capacity": 2, "podTemplate": template },
    });
    fixture.kubectl.apply(&node.to_string()).await?;
    fixture.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    let status = fixture.nodes.get(POOL).await?.status.unwrap_or_default();
    expect_eq("healthy and ready", (status.healthy, status.ready_replicas), (Some(true), Some(1)))?;
    ensure!(status.last_heartbeat.is_some() && status.detected_device.is_some(), "{status:?}");
    let images = fixture.platform.images();
    let image = format!("{}/vmafx-node:{}", images.repository, images.tag);
    expect_eq("the image", status.current_image, Some(image))?;
    let listed = fixture.kubectl.run(&["get", "vmnode", POOL, "--no-headers"]).await?;
    ensure!(listed.contains("cpu") && listed.contains("true"), "{listed}");
    Ok(())
}

pub(super) async fn scale(fixture: &UserFixture<'_>) -> Result<()> {
    fixture.kubectl.run(&["scale", "vmnode", POOL, "--replicas=2"]).await?;
    fixture.kubectl.wait("jsonpath={.status.readyReplicas}=2", "vmnode/pool").await?;
    expect_eq("the number of workers", workers(fixture).await?.len(), 2)
}

pub(super) async fn pause(fixture: &UserFixture<'_>) -> Result<()> {
    let before = workers(fixture).await?;
    fixture.patch_spec(&fixture.nodes, POOL, json!({ "paused": true })).await?;
    fixture.kubectl.wait("condition=Paused", "vmnode/pool").await?;
    expect_eq("the workers of a paused node", workers(fixture).await?, vec![])?;
    fixture.patch_spec(&fixture.nodes, POOL, json!({ "paused": false })).await?;
    fixture.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    fixture.kubectl.wait("jsonpath={.status.readyReplicas}=2", "vmnode/pool").await?;
    all_new(&before, &workers(fixture).await?)
}

/// Starts a rollout of all workers by changing the template.
pub(super) async fn roll(fixture: &UserFixture<'_>) -> Result<()> {
    let marked = json!({ "podTemplate": { "metadata": { "annotations": { "restarted": "1" } } } });
    fixture.patch_spec(&fixture.nodes, POOL, marked).await?;
    fixture.kubectl.wait("condition=RolloutInProgress", "vmnode/pool").await
}

/// Waits until the rollout has replaced all workers in `before`.
pub(super) async fn rolled(fixture: &UserFixture<'_>, before: &[(String, String)]) -> Result<()> {
    fixture.kubectl.wait("condition=RolloutInProgress=False", "vmnode/pool").await?;
    fixture.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    all_new(before, &workers(fixture).await?)
}

/// Names and UIDs of the workers.
pub(super) async fn workers(fixture: &UserFixture<'_>) -> Result<Vec<(String, String)>> {
    let pods = fixture.pods_with(WORKERS).await?;
    Ok(pods.iter().map(|pod| (pod.name_any(), pod.uid().unwrap_or_default())).collect())
}

fn all_new(before: &[(String, String)], after: &[(String, String)]) -> Result<()> {
    let new = after.iter().all(|worker| !before.contains(worker));
    ensure!(after.len() == before.len() && new, "{before:?} became {after:?}");
    Ok(())
}

/// Deletes the VmafxNode and waits until its workers are gone.
pub(super) async fn remove(fixture: &UserFixture<'_>) -> Result<()> {
    fixture.kubectl.run(&["delete", "vmnode", POOL]).await?;
    fixture.until_no_pods_with(WORKERS).await
}
