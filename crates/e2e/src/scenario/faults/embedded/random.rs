//! The part of the random run that concerns a controller on SQLite: its clock is stepped, its store is restored, and its Pods
//! are killed while jobs run.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::super::fixture::{hold, short_leases};
use super::super::inject::inject;
use super::super::ledger::ScoredPairs;
use super::super::random::{CONTROLLERS_AWAY, TIMEOUT};
use super::super::summary::FaultSummary;
use super::fixture::EmbeddedFixture;
use super::plan::{EmbeddedDisturbance, embedded_plan};
use super::restore::{self, RestoreRecord};
use crate::platform::Platform;
use crate::steps::Steps;

const BATCH_NAME: &str = "random";
/// Jobs that end between a backup and its restore.
const AFTER_BACKUP: usize = 10;

/// Scores this many jobs on a release with the embedded store.
pub(in super::super) async fn run(
    platform: &Platform,
    steps: &mut Steps,
    seed: u64,
    jobs: usize,
) -> Result<FaultSummary> {
    let leases = short_leases();
    let set_up = EmbeddedFixture::set_up(platform, &leases);
    let mut fixture = steps.step("random: one controller on SQLite with a clock of its own", set_up).await?;
    let title = format!("random: {jobs} jobs over the faults of a controller on SQLite");
    let summary = steps.step(&title, Box::pin(disturbed(&mut fixture, seed, jobs))).await?;
    println!("        {summary}");
    steps.step("random: uninstall the release with SQLite", fixture.tear_down()).await?;
    Ok(summary)
}

async fn disturbed(fixture: &mut EmbeddedFixture<'_>, seed: u64, jobs: usize) -> Result<FaultSummary> {
    let batch = ScoredPairs::score(fixture.platform).await?.batch(BATCH_NAME, jobs);
    let create = fixture.create(&batch);
    let mut state = DisturbedState { jobs, clock: 0, record: RestoreRecord::default() };
    let faults = async {
        let mut injected: BTreeMap<String, usize> = BTreeMap::new();
        let plan = embedded_plan(seed);
        let rounds = plan.len();
        for (round, disturbance) in plan.into_iter().enumerate() {
            fixture.ledger.history.until_ended(BATCH_NAME, round * jobs / rounds, TIMEOUT).await?;
            disturb(fixture, disturbance, &mut state).await?;
            *injected.entry(disturbance.to_string()).or_default() += 1;
        }
        anyhow::Ok(injected)
    };
    let ((), injected) = tokio::try_join!(create, faults)?;
    for (fault, times) in injected {
        println!("        {times} times: {fault}");
    }
    let summary = restore::verify(fixture, &state.record, Instant::now(), TIMEOUT).await?;
    fixture.until_all_ready().await?;
    ensure!(summary.scores == jobs, "{summary}");
    Ok(summary)
}

/// What the disturbances so far have changed.
struct DisturbedState {
    jobs: usize,
    /// Offset of the controller's clock in seconds.
    clock: i64,
    record: RestoreRecord,
}

async fn disturb(
    fixture: &mut EmbeddedFixture<'_>,
    disturbance: EmbeddedDisturbance,
    state: &mut DisturbedState,
) -> Result<()> {
    match disturbance {
        EmbeddedDisturbance::Pod(fault) => inject(&fixture.pods, fault).await.map(drop),
        EmbeddedDisturbance::ControllerAway => {
            fixture.scale_controller(0).await?;
            hold("no controller runs", CONTROLLERS_AWAY).await;
            fixture.scale_controller(1).await
        }
        EmbeddedDisturbance::ClockStep(seconds) => {
            state.clock += seconds;
            fixture.set_clock(state.clock)
        }
        EmbeddedDisturbance::Restore => {
            let backup = restore::back_up(fixture).await?;
            let more = (fixture.ledger.history.ended_count(BATCH_NAME) + AFTER_BACKUP).min(state.jobs);
            fixture.ledger.history.until_ended(BATCH_NAME, more, TIMEOUT).await?;
            restore::restore(fixture, &backup, &mut state.record).await
        }
    }
}
