//! Jobs of the queue.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::json;

use super::stage::{BUCKET, Stage, same};
use crate::clips::Clips;

/// The clips are on a volume of the workers.
pub(super) async fn files(stage: &Stage<'_>) -> Result<()> {
    stage.score("first", Clips::GOLDEN, json!({ "minScore": 50 })).await?;
    stage.kubectl.wait("condition=Complete", "vmjob/first").await?;
    let status = stage.until_scored("first", Clips::GOLDEN).await?;
    same(
        "passed, frames, attempts",
        (status.passed, status.frames, status.attempts),
        (Some(true), Some(48), Some(1)),
    )?;
    ensure!(
        status.model.and_then(|model| model.digest).is_some_and(|digest| digest.starts_with("sha256:")),
        "no digest"
    );
    let listed = stage.kubectl.run(&["get", "vmjob", "first", "--no-headers"]).await?;
    ensure!(listed.contains("Succeeded"), "{listed}");
    Ok(())
}

/// The clips are in an object store, which only who has the Secret can read.
pub(super) async fn objects(stage: &Stage<'_>) -> Result<()> {
    for name in Clips::GOLDEN {
        stage.outside.s3().put(BUCKET, name, &fs::read(stage.platform.clips().here(name))?)?;
    }
    let [reference, distorted] = Clips::GOLDEN.map(|name| format!("s3://{BUCKET}/{name}"));
    let more = json!({ "reference": reference, "distorted": distorted });
    stage.score("objects", Clips::GOLDEN, more).await?;
    stage.until_scored("objects", Clips::GOLDEN).await.map(drop)
}

/// By the definition, by the webhook, and by the controller.
pub(super) async fn refused(stage: &Stage<'_>) -> Result<()> {
    let job = |spec: serde_json::Value| json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "refused" }, "spec": spec });
    let nowhere = job(json!({ "reference": "ref.yuv", "distorted": "dis.yuv" }));
    let told = stage.kubectl.apply(&nowhere.to_string()).await.unwrap_or_else(|error| format!("{error:#}"));
    ensure!(told.contains("URI"), "a clip without a URI: {told}");
    // Only the webhook knows which names in a template are the operator's.
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "refused" },
        "spec": { "gpuVendor": "cpu", "podTemplate": { "spec": { "containers": [
            { "name": "agent", "env": [{ "name": "VMAFX_CONTROLLER_ADDR", "value": "elsewhere:9090" }] },
        ]}}},
    });
    let told = stage.kubectl.apply(&node.to_string()).await.unwrap_or_else(|error| format!("{error:#}"));
    ensure!(told.contains("is set by the operator"), "a worker with another controller: {told}");
    Ok(())
}
