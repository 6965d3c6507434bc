//! Four slots of a worker share a scratch volume that holds the clips of one or two jobs: every job gets its score.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::fixture::FaultFixture;
use super::summary::FaultSummary;

const BATCH_NAME: &str = "shared";
const NODE: &str = "vmnode/crowded";
const JOBS: usize = 40;

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    fixture.scale_pool(0).await?;
    add(fixture).await?;
    let batch = fixture.stored_batch(BATCH_NAME, JOBS).await?;
    let started = Instant::now();
    fixture.create(&batch).await?;
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, started.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    remove(fixture).await?;
    fixture.scale_pool(3).await?;
    ensure!(summary.scores == JOBS, "{summary}");
    Ok(summary)
}

/// Adds a worker with four slots.
pub(super) async fn add(fixture: &FaultFixture<'_>) -> Result<()> {
    let mut node = FaultFixture::node("crowded", 1);
    node["spec"]["capacity"] = json!(4);
    fixture.kubectl.apply(&node.to_string()).await?;
    fixture.kubectl.wait("jsonpath={.status.readyReplicas}=1", NODE).await
}

pub(super) async fn remove(fixture: &FaultFixture<'_>) -> Result<()> {
    fixture.kubectl.run(&["delete", NODE, "--timeout=120s"]).await.map(drop)
}
