//! The controller's clock is stepped by ten minutes in both directions while jobs run: no attempt is lost, no deadline of a
//! minute is missed, and no result is deleted early.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use vmafx_api::job::Phase;

use super::super::summary::FaultSummary;
use super::fixture::{EmbeddedFixture, WORKERS};
use crate::steps::Steps;

const JOBS: usize = 6;
/// Longer than the scenario takes, shorter than the steps of the clock.
const TTL_SECONDS: u64 = 590;
/// Longer than the first jobs of a batch take, shorter than the steps of the clock.
const DEADLINE_SECONDS: u64 = 60;
/// Jobs with a deadline: as many as run at once, and one that waits.
const WITH_DEADLINE: usize = WORKERS + 1;

pub(super) async fn run(fixture: &mut EmbeddedFixture<'_>, steps: &mut Steps) -> Result<()> {
    for (batch, offset, title) in [
        ("ahead", 600, "embedded: the clock is stepped ten minutes ahead"),
        ("real", 0, "embedded: the clock is stepped back to the real time"),
        ("behind", -600, "embedded: the clock is stepped ten minutes back"),
    ] {
        let summary = steps.step(title, stepped(fixture, batch, offset)).await?;
        println!("        {summary}");
    }
    // The last verification covers all batches, so a result that was deleted early would be missing.
    steps.step("embedded: no result was deleted early", fixture.verify_batch("")).await
}

/// Steps the clock while jobs run.
async fn stepped(fixture: &mut EmbeddedFixture<'_>, batch: &str, offset: i64) -> Result<FaultSummary> {
    fixture.submit(batch, JOBS, extra).await?;
    fixture.until_phase(batch, Phase::Running).await?;
    fixture.set_clock(offset)?;
    let stepped = Instant::now();
    let verified = fixture.verify_batch(batch).await;
    let summary = fixture.summary(batch, stepped.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    ensure!(summary.lost == 0 && summary.retried == 0, "{summary}");
    Ok(summary)
}

fn extra(number: usize) -> Value {
    let mut spec = json!({ "ttlSecondsAfterFinished": TTL_SECONDS });
    if number < WITH_DEADLINE {
        spec["activeDeadlineSeconds"] = json!(DEADLINE_SECONDS);
    }
    spec
}
