//! The object store answers 503 for twenty seconds while clips are fetched: every job still gets its score.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use vmafx_testkit::wait;

use super::fixture::{FaultFixture, hold};
use super::summary::FaultSummary;
use crate::platform::STEP_TIMEOUT;

const BATCH_NAME: &str = "store";
const JOBS: usize = 50;
const FAULT: Duration = Duration::from_secs(20);

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let store = fixture.platform.external_services().await?.s3();
    let batch = fixture.stored_batch(BATCH_NAME, JOBS).await?;
    store.gateway().fail();
    fixture.create(&batch).await?;
    let refused = async || match store.gateway().refused() {
        0 => Err("no request yet"),
        _ => Ok(()),
    };
    let reached = wait::until(STEP_TIMEOUT, "a fetch to be answered with 503", refused).await;
    hold("the object store answers 503", FAULT).await;
    store.gateway().heal();
    let healed = Instant::now();
    reached?;
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, healed.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    ensure!(summary.scores == JOBS, "{summary}");
    Ok(summary)
}
