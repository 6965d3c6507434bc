//! No controller runs for five minutes while jobs end: every score arrives, and nothing is scored twice.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use vmafx_testkit::wait;

use super::fixture::{FaultFixture, hold};
use super::summary::FaultSummary;
use crate::platform::STEP_TIMEOUT;

const BATCH_NAME: &str = "away";
/// As many as the pool has slots, so that all of them run when the controllers stop.
const JOBS: usize = 6;
const AWAY: Duration = Duration::from_mins(5);

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let mut batch = fixture.long_batch(BATCH_NAME, JOBS).await?;
    for (number, (_, spec, _)) in batch.iter_mut().enumerate() {
        spec["backoffLimit"] = json!(if number % 2 == 0 { 0 } else { 3 });
    }
    fixture.create(&batch).await?;
    let running = async || {
        let jobs = fixture.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
        let running = jobs.iter().filter(|job| job.status == "running").count();
        if running == JOBS { Ok(()) } else { Err(format!("{running} run")) }
    };
    wait::until(STEP_TIMEOUT, "all jobs to run", running).await?;
    fixture.scale_controllers(0).await?;
    hold("no controller runs", AWAY).await;
    fixture.scale_controllers(2).await?;
    let healed = Instant::now();
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, healed.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    ensure!(summary.lost == 0 && summary.retried == 0, "{summary}");
    Ok(summary)
}
