//! A worker cannot reach the controllers for 75 seconds, longer than its lease and its session, and comes back.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt as _;

use super::firewall;
use super::fixture::{FaultFixture, hold};
use super::partition::PORT;
use super::plan::Role;
use super::summary::FaultSummary;

const BATCH_NAME: &str = "cutoff";
const JOBS: usize = 60;
const AFTERWARDS: &str = "rejoined";
const FEW: usize = 60;
const BEFORE: usize = 4;
const CUT: Duration = Duration::from_secs(75);

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let node = fixture.pods.live(Role::Node).await?.first().context("there is no node")?.name_any();
    let address = fixture.pods.address(Role::Node, 0).await?;
    let batch = fixture.long_batch(BATCH_NAME, JOBS).await?;
    fixture.create(&batch).await?;
    fixture.ledger.history.until_ended(BATCH_NAME, BEFORE, CUT).await?;
    firewall::block_forwarded(fixture.platform, &address, PORT)?;
    hold("one worker cannot reach the controllers", CUT).await;
    firewall::unblock(fixture.platform)?;
    let healed = Instant::now();
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, healed.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    fixture.submit(AFTERWARDS, FEW).await?;
    fixture.verify_batch(AFTERWARDS).await?;
    let jobs = fixture.queue.jobs().await?;
    let again = jobs.iter().flat_map(|job| &job.attempts).filter(|attempt| attempt.node == node);
    let last = again.map(|attempt| attempt.started_at).max().unwrap_or_default();
    let healed_at =
        fixture.queue.now().await? - i64::try_from(healed.elapsed().as_millis()).unwrap_or(i64::MAX);
    ensure!(last > healed_at, "{node} got no job after it came back");
    Ok(summary)
}
