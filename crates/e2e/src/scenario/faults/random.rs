//! 2 000 jobs over all faults in random order: none is lost, doubled or stuck, and none fails.
//!
//! An operator watches all namespaces and uses one controller, so the faults of a controller on Postgres and those of one on
//! SQLite need two releases, one after the other. The seed determines which one is first, and the faults of both.
//!
//! On Postgres, one worker lacks the volume with the clips during the whole run, another has four slots on a small scratch
//! volume, and a transaction stays open in another database. The other faults come one after the other.
//!
//! The jobs have the default `backoffLimit` of 3, so the fourth attempt that ends without a score fails a job. What counts:
//!
//! | fault                           | attempts that one job can lose to it                                            |
//! |---------------------------------|---------------------------------------------------------------------------------|
//! | worker without its volume       | 1: the job then avoids that worker for a minute, and has ended before           |
//! | full scratch volume             | 1 for the same reason; only every twentieth job downloads clips                 |
//! | worker killed, or cut off       | 1 each: a killed worker's jobs go to the others within a lease                  |
//! | object store answers 503        | 3 in 20 s, each after 3 to 6 s of the fetch's own retries; the fourth succeeds  |
//! | worker deleted, controller away | 0: the job is given back, or its score is kept until a controller answers       |
//!
//! A job that was retried is claimed before those that wait, and about ninety jobs end between two faults, so a job meets one
//! of the faults that come one after the other. A job with files adds at most the worker without its volume, and loses two
//! attempts. A job with downloads, which that worker can score, adds at most the full scratch volume: it loses four, and
//! fails, only if all three fetches fail in the shortest possible time and four downloads then meet on the one small volume.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::fixture::{FaultFixture, hold};
use super::inject::{self, inject};
use super::ledger::JobRequest;
use super::partition::PORT;
use super::plan::{Disturbance, Role, SplitMix64, disturbance_plan};
use super::summary::FaultSummary;
use super::{broken_worker, embedded, firewall, idle_transaction, set_up, shared_scratch};
use crate::platform::Platform;
use crate::steps::Steps;

const BATCH_NAME: &str = "random";
const ON_POSTGRES: usize = 1600;
const ON_SQLITE: usize = 400;
/// Every twentieth job has its clips in the object store.
const STORED_EVERY: usize = 20;
pub(super) const CONTROLLERS_AWAY: Duration = Duration::from_secs(45);
const CONTROLLER_CUT: Duration = Duration::from_secs(45);
/// Longer than a session.
const WORKER_CUT: Duration = Duration::from_secs(75);
const STORE_ERRORS: Duration = Duration::from_secs(20);
pub(super) const TIMEOUT: Duration = Duration::from_mins(20);

#[derive(Debug, Clone, Copy)]
enum StoreKind {
    Postgres,
    Sqlite,
}

pub async fn random(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let seed = inject::seed()?;
    println!("        {}={seed}", inject::SEED);
    let mut total = FaultSummary::default();
    for store in SplitMix64(seed).shuffled(vec![StoreKind::Postgres, StoreKind::Sqlite]) {
        let part = match store {
            StoreKind::Postgres => Box::pin(on_postgres(platform, steps, seed)).await?,
            StoreKind::Sqlite => Box::pin(embedded::random::run(platform, steps, seed, ON_SQLITE)).await?,
        };
        total = total.and(&part);
    }
    println!("        {total}");
    ensure!(total.scores == ON_POSTGRES + ON_SQLITE, "{total}");
    Ok(())
}

async fn on_postgres(platform: &Platform, steps: &mut Steps, seed: u64) -> Result<FaultSummary> {
    let mut fixture = set_up(platform, steps).await?;
    let title = format!("random: {ON_POSTGRES} jobs over the faults of controllers on Postgres");
    let summary = steps.step(&title, Box::pin(with_broken_workers(&mut fixture, seed))).await?;
    println!("        {summary}");
    steps.step("random: uninstall the release with Postgres", fixture.tear_down()).await?;
    Ok(summary)
}

async fn with_broken_workers(fixture: &mut FaultFixture<'_>, seed: u64) -> Result<FaultSummary> {
    broken_worker::add(fixture).await?;
    shared_scratch::add(fixture).await?;
    let dsn = idle_transaction::another_database(fixture).await?;
    let summary = idle_transaction::with_open_transaction(&dsn, disturbed(fixture, seed)).await?;
    broken_worker::remove(fixture).await?;
    shared_scratch::remove(fixture).await?;
    fixture.until_all_ready().await?;
    ensure!(summary.scores == ON_POSTGRES, "{summary}");
    Ok(summary)
}

async fn disturbed(fixture: &mut FaultFixture<'_>, seed: u64) -> Result<FaultSummary> {
    let batch = batch(fixture).await?;
    let create = fixture.create(&batch);
    let faults = async {
        let mut injected: BTreeMap<String, usize> = BTreeMap::new();
        let plan = disturbance_plan(seed);
        let rounds = plan.len();
        for (round, disturbance) in plan.into_iter().enumerate() {
            fixture.ledger.history.until_ended(BATCH_NAME, round * ON_POSTGRES / rounds, TIMEOUT).await?;
            disturb(fixture, disturbance).await?;
            *injected.entry(disturbance.to_string()).or_default() += 1;
        }
        anyhow::Ok(injected)
    };
    let ((), injected) = tokio::try_join!(create, faults)?;
    let healed = Instant::now();
    for (fault, times) in injected {
        println!("        {times} times: {fault}");
    }
    let verified = fixture.verify_batch(BATCH_NAME).await;
    let summary = fixture.summary(BATCH_NAME, healed.elapsed()).await?;
    verified.with_context(|| summary.to_string())?;
    Ok(summary)
}

async fn batch(fixture: &FaultFixture<'_>) -> Result<Vec<JobRequest>> {
    let mut jobs = fixture.batch(BATCH_NAME, ON_POSTGRES);
    let stored = fixture.stored_batch(BATCH_NAME, ON_POSTGRES / STORED_EVERY).await?;
    for (job, (_, spec, end)) in jobs.iter_mut().step_by(STORED_EVERY).zip(stored) {
        (job.1, job.2) = (spec, end);
    }
    Ok(jobs)
}

async fn disturb(fixture: &FaultFixture<'_>, disturbance: Disturbance) -> Result<()> {
    match disturbance {
        Disturbance::Pod(fault) => inject(&fixture.pods, fault).await.map(drop),
        Disturbance::ControllersAway => {
            fixture.scale_controllers(0).await?;
            hold("no controller runs", CONTROLLERS_AWAY).await;
            fixture.scale_controllers(2).await
        }
        Disturbance::ControllerCut { which } => {
            let port = fixture.platform.external_services().await?.database_port()?;
            let address = fixture.pods.address(Role::Controller, which).await?;
            firewall::block_external(fixture.platform, &address, port)?;
            hold("one controller cannot reach Postgres", CONTROLLER_CUT).await;
            firewall::unblock(fixture.platform)
        }
        Disturbance::WorkerCut { which } => {
            let address = fixture.pods.address(Role::Node, which).await?;
            firewall::block_forwarded(fixture.platform, &address, PORT)?;
            hold("one worker cannot reach the controllers", WORKER_CUT).await;
            firewall::unblock(fixture.platform)
        }
        Disturbance::StoreErrors => {
            let gateway = fixture.platform.external_services().await?.s3().gateway();
            gateway.fail();
            hold("the object store answers 503", STORE_ERRORS).await;
            gateway.heal();
            Ok(())
        }
    }
}
