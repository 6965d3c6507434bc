//! One of two controllers cannot reach Postgres for five minutes under load: the nodes leave it for the other one.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::firewall;
use super::fixture::{FaultFixture, hold};
use super::plan::Role;
use super::summary::{FaultSummary, longest_idle};

const BATCH_NAME: &str = "cut";
const JOBS: usize = 200;
/// Jobs that have ended before the fault, so that nodes are busy.
const BEFORE: usize = 6;
const CUT: Duration = Duration::from_mins(5);
const MAX_IDLE_MS: i64 = 15_000;

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let port = fixture.platform.external_services().await?.database_port()?;
    let address = fixture.pods.address(Role::Controller, 0).await?;
    let batch = fixture.long_batch(BATCH_NAME, JOBS).await?;
    fixture.create(&batch).await?;
    fixture.ledger.history.until_ended(BATCH_NAME, BEFORE, CUT).await?;
    let from = fixture.queue.now().await?;
    firewall::block_external(fixture.platform, &address, port)?;
    hold("one controller cannot reach Postgres", CUT).await;
    let pending = fixture.queue.jobs().await?.iter().filter(|job| job.status == "pending").count();
    let until = fixture.queue.now().await?;
    firewall::unblock(fixture.platform)?;
    let healed = Instant::now();
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, healed.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    ensure!(pending > 0, "the batch ended before the fault did, so idle nodes would not show");
    let idle = longest_idle(&fixture.queue.jobs().await?, from, until);
    ensure!(idle.len() == 3 && idle.values().all(|ms| *ms <= MAX_IDLE_MS), "nodes were idle: {idle:?} ms");
    ensure!(summary.lost == 0 && summary.retried == 0, "{summary}");
    Ok(summary)
}
