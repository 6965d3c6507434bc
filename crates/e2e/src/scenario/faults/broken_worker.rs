//! One of three workers lacks the volume with the clips: every job still gets its score.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use vmafx_testkit::wait;

use super::fixture::FaultFixture;
use super::summary::FaultSummary;
use crate::platform::STEP_TIMEOUT;

const BATCH_NAME: &str = "broken";
const NODE: &str = "vmnode/broken";
const JOBS: usize = 200;

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    fixture.scale_pool(2).await?;
    add(fixture).await?;
    let started = Instant::now();
    fixture.submit(BATCH_NAME, JOBS).await?;
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, started.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    let shown = async || {
        let node = fixture.kubectl.get(&[NODE]).await.map_err(|error| format!("{error:#}"))?;
        let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let quarantined =
            conditions.iter().any(|one| one["type"] == "Quarantined" && one["status"] == "True");
        if quarantined { Ok(()) } else { Err(format!("{conditions:?}")) }
    };
    wait::until(STEP_TIMEOUT, "the broken worker to be shown as quarantined", shown).await?;
    remove(fixture).await?;
    fixture.scale_pool(3).await?;
    ensure!(summary.scores == JOBS, "{summary}");
    Ok(summary)
}

/// Adds a worker without the volume with the clips.
pub(super) async fn add(fixture: &FaultFixture<'_>) -> Result<()> {
    let mut node = FaultFixture::node("broken", 1);
    let template = &mut node["spec"]["podTemplate"]["spec"];
    template["volumes"] = json!([]);
    template["containers"][0]["volumeMounts"] = json!([]);
    fixture.kubectl.apply(&node.to_string()).await?;
    fixture.kubectl.wait("jsonpath={.status.readyReplicas}=1", NODE).await
}

pub(super) async fn remove(fixture: &FaultFixture<'_>) -> Result<()> {
    fixture.kubectl.run(&["delete", NODE, "--timeout=120s"]).await.map(drop)
}
