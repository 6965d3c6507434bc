//! One of two controllers cannot reach Postgres for five minutes under load: the nodes leave it for the other one.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use vmafx_api::conditions::Reason;

use super::firewall;
use super::fixture::FaultFixture;
use super::ledger::JobRequest;
use super::plan::Role;
use super::summary::{FaultSummary, longest_idle};

const BATCH_NAME: &str = "cut";
/// More than a fast machine scores during the fault.
const MAX_JOBS: usize = 5000;
/// Jobs that wait at any time, so that an idle node shows.
const WAITING: usize = 30;
/// How often waiting jobs are counted; far shorter than [`WAITING`] jobs take.
const COUNT_INTERVAL: Duration = Duration::from_secs(5);
/// Jobs that have ended before the fault, so that nodes are busy.
const BEFORE: usize = 6;
const CUT: Duration = Duration::from_mins(5);
const MAX_IDLE_MS: i64 = 15_000;

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let port = fixture.platform.external_services().await?.database_port()?;
    let address = fixture.pods.address(Role::Controller, 0).await?;
    let mut left = fixture.long_batch(BATCH_NAME, MAX_JOBS).await?;
    top_up(fixture, &mut left).await?;
    fixture.ledger.history.until_ended(BATCH_NAME, BEFORE, CUT).await?;
    let from = fixture.queue.now().await?;
    firewall::block_external(fixture.platform, &address, port)?;
    println!("        one controller cannot reach Postgres for {} s", CUT.as_secs());
    let cut = Instant::now();
    while cut.elapsed() < CUT {
        top_up(fixture, &mut left).await?;
        tokio::time::sleep(COUNT_INTERVAL).await;
    }
    let pending = pending(fixture).await?;
    let unsubmitted = fixture.ledger.requested.len() - fixture.queue.jobs().await?.len();
    println!("        {pending} jobs wait in the queue, {unsubmitted} are not submitted yet");
    let until = fixture.queue.now().await?;
    firewall::unblock(fixture.platform)?;
    let healed = Instant::now();
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, healed.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    ensure!(pending > 0, "no job waited at the end of the fault, so idle nodes would not show");
    let idle = longest_idle(&fixture.queue.jobs().await?, from, until);
    ensure!(idle.len() == 3 && idle.values().all(|ms| *ms <= MAX_IDLE_MS), "nodes were idle: {idle:?} ms");
    ensure!(summary.lost == 0 && summary.retried == 0, "{summary}");
    // The other controller answered all the time.
    let unreachable = fixture.ledger.history.with_reason(Reason::ControllerUnreachable);
    ensure!(unreachable.is_empty(), "the controllers were called unreachable on {unreachable:?}");
    Ok(summary)
}

/// Creates jobs until enough of them wait. A fixed number would end too early on a fast machine.
async fn top_up(fixture: &mut FaultFixture<'_>, left: &mut Vec<JobRequest>) -> Result<()> {
    let missing = WAITING.saturating_sub(pending(fixture).await?).min(left.len());
    let batch: Vec<_> = left.drain(..missing).collect();
    fixture.create(&batch).await
}

async fn pending(fixture: &FaultFixture<'_>) -> Result<usize> {
    Ok(fixture.queue.jobs().await?.iter().filter(|job| job.status == "pending").count())
}
