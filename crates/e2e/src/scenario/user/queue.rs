//! Jobs of the queue.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::json;

use super::fixture::{BUCKET, UserFixture, expect_eq};
use crate::clips::Clips;

/// The clips are on a volume of the workers.
pub(super) async fn files(fixture: &UserFixture<'_>) -> Result<()> {
    fixture.submit_pair("first", Clips::GOLDEN, json!({ "minScore": 50 })).await?;
    fixture.kubectl.wait("condition=Complete", "vmjob/first").await?;
    let status = fixture.until_scored("first", Clips::GOLDEN).await?;
    expect_eq(
        "passed, frames, attempts",
        (status.passed, status.frames, status.attempts),
        (Some(true), Some(48), Some(1)),
    )?;
    ensure!(
        status.model.and_then(|model| model.digest).is_some_and(|digest| digest.starts_with("sha256:")),
        "no digest"
    );
    let listed = fixture.kubectl.run(&["get", "vmjob", "first", "--no-headers"]).await?;
    ensure!(listed.contains("Succeeded"), "{listed}");
    Ok(())
}

/// The clips are in an object store that needs the credentials of the Secret.
pub(super) async fn objects(fixture: &UserFixture<'_>) -> Result<()> {
    for name in Clips::GOLDEN {
        fixture.external.s3().put(BUCKET, name, &fs::read(fixture.platform.clips().host_path(name))?)?;
    }
    let [reference, distorted] = Clips::GOLDEN.map(|name| format!("s3://{BUCKET}/{name}"));
    let more = json!({ "reference": reference, "distorted": distorted });
    fixture.submit_pair("objects", Clips::GOLDEN, more).await?;
    fixture.until_scored("objects", Clips::GOLDEN).await.map(drop)
}

/// The CRD rejects one resource, and the webhook another.
pub(super) async fn refused(fixture: &UserFixture<'_>) -> Result<()> {
    let job = |spec: serde_json::Value| json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "refused" }, "spec": spec });
    let without_uri = job(json!({ "reference": "ref.yuv", "distorted": "dis.yuv" }));
    let output =
        fixture.kubectl.apply(&without_uri.to_string()).await.unwrap_or_else(|error| format!("{error:#}"));
    ensure!(output.contains("URI"), "a clip without a URI was not rejected: {output}");
    // Only the webhook knows which variables of a template belong to the operator.
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "refused" },
        "spec": { "gpuVendor": "cpu", "podTemplate": { "spec": { "containers": [
            { "name": "agent", "env": [{ "name": "VMAFX_CONTROLLER_ADDR", "value": "elsewhere:9090" }] },
        ]}}},
    });
    let output = fixture.kubectl.apply(&node.to_string()).await.unwrap_or_else(|error| format!("{error:#}"));
    ensure!(
        output.contains("is set by the operator"),
        "a template that overrides the controller's address was not rejected: {output}"
    );
    Ok(())
}
