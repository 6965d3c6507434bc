//! A VmafxNode: its workers start, scale, pause and return.

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use serde_json::json;

use super::stage::{CREDENTIALS, Stage, same};
use crate::clips::Clips;
use crate::release::merged;

const POOL: &str = "pool";
const WORKERS: &str = "vmafx.dev/workload=vmafx-node-pool";

/// Clips by a claim, the object store by a Secret.
pub(super) async fn register(stage: &Stage<'_>) -> Result<()> {
    let credentials = json!([{ "secretRef": { "name": CREDENTIALS } }]);
    let mut template = Clips::pod_template();
    let agent = &mut template["spec"]["containers"][0];
    *agent = merged(agent.take(), json!({ "envFrom": credentials }));
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": POOL, "labels": { "lab": "a" } },
        "spec": { "gpuVendor": "cpu", "capacity": 2, "podTemplate": template },
    });
    stage.kubectl.apply(&node.to_string()).await?;
    stage.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    let status = stage.nodes.get(POOL).await?.status.unwrap_or_default();
    same("healthy and ready", (status.healthy, status.ready_replicas), (Some(true), Some(1)))?;
    ensure!(status.last_heartbeat.is_some() && status.detected_device.is_some(), "{status:?}");
    let images = stage.platform.images();
    let image = format!("{}/vmafx-node:{}", images.repository, images.tag);
    same("the image", status.current_image, Some(image))?;
    let listed = stage.kubectl.run(&["get", "vmnode", POOL, "--no-headers"]).await?;
    ensure!(listed.contains("cpu") && listed.contains("true"), "{listed}");
    Ok(())
}

pub(super) async fn scale(stage: &Stage<'_>) -> Result<()> {
    stage.kubectl.run(&["scale", "vmnode", POOL, "--replicas=2"]).await?;
    stage.kubectl.wait("jsonpath={.status.readyReplicas}=2", "vmnode/pool").await?;
    same("the number of workers", workers(stage).await?.len(), 2)
}

pub(super) async fn pause(stage: &Stage<'_>) -> Result<()> {
    let before = workers(stage).await?;
    stage.change(&stage.nodes, POOL, json!({ "paused": true })).await?;
    stage.kubectl.wait("condition=Paused", "vmnode/pool").await?;
    same("the workers of a paused node", workers(stage).await?, vec![])?;
    stage.change(&stage.nodes, POOL, json!({ "paused": false })).await?;
    stage.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    stage.kubectl.wait("jsonpath={.status.readyReplicas}=2", "vmnode/pool").await?;
    all_new(&before, &workers(stage).await?)
}

/// Asks for new Pods for all workers, one after the other, as a new image does.
pub(super) async fn roll(stage: &Stage<'_>) -> Result<()> {
    let marked = json!({ "podTemplate": { "metadata": { "annotations": { "restarted": "1" } } } });
    stage.change(&stage.nodes, POOL, marked).await?;
    stage.kubectl.wait("condition=RolloutInProgress", "vmnode/pool").await
}

/// Waits until they have all taken the place of these.
pub(super) async fn rolled(stage: &Stage<'_>, before: &[(String, String)]) -> Result<()> {
    stage.kubectl.wait("condition=RolloutInProgress=False", "vmnode/pool").await?;
    stage.kubectl.wait("condition=Ready", "vmnode/pool").await?;
    all_new(before, &workers(stage).await?)
}

/// Names and UIDs.
pub(super) async fn workers(stage: &Stage<'_>) -> Result<Vec<(String, String)>> {
    let pods = stage.pods_with(WORKERS).await?;
    Ok(pods.iter().map(|pod| (pod.name_any(), pod.uid().unwrap_or_default())).collect())
}

fn all_new(before: &[(String, String)], after: &[(String, String)]) -> Result<()> {
    let new = after.iter().all(|worker| !before.contains(worker));
    ensure!(after.len() == before.len() && new, "{before:?} became {after:?}");
    Ok(())
}

/// Removes it, and waits for the end of its workers.
pub(super) async fn remove(stage: &Stage<'_>) -> Result<()> {
    stage.kubectl.run(&["delete", "vmnode", POOL]).await?;
    stage.until_no_pods_with(WORKERS).await
}
