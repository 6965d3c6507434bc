//! 2 000 jobs over all faults in random order: none is lost, doubled or stuck, and none fails.
//!
//! During the whole run one worker lacks the volume with the clips, another has four slots on a small scratch volume, and a
//! transaction stays open in another database. The other faults come one after the other, determined by a seed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::fixture::{FaultFixture, JobRequest};
use super::inject::{self, inject};
use super::partition::PORT;
use super::plan::{Disturbance, Role, disturbance_plan};
use super::summary::FaultSummary;
use super::{broken_worker, firewall, idle_transaction, shared_scratch};

const BATCH_NAME: &str = "random";
const JOBS: usize = 2000;
/// Every twentieth job has its clips in the object store.
const STORED_EVERY: usize = 20;
/// Enough for a job that several faults meet one after the other.
const BACKOFF_LIMIT: u32 = 20;
const CONTROLLERS_AWAY: Duration = Duration::from_secs(45);
const CONTROLLER_CUT: Duration = Duration::from_secs(45);
/// Longer than a session.
const WORKER_CUT: Duration = Duration::from_secs(75);
const STORE_ERRORS: Duration = Duration::from_secs(20);
const TIMEOUT: Duration = Duration::from_mins(20);

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let seed = inject::seed()?;
    println!("        {}={seed}", inject::SEED);
    broken_worker::add(fixture).await?;
    shared_scratch::add(fixture).await?;
    let dsn = idle_transaction::another_database(fixture).await?;
    let summary = idle_transaction::with_open_transaction(&dsn, disturbed(fixture, seed)).await?;
    broken_worker::remove(fixture).await?;
    shared_scratch::remove(fixture).await?;
    fixture.until_all_ready().await?;
    ensure!(summary.scores == JOBS, "{summary}");
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
            fixture.history.until_ended(BATCH_NAME, round * JOBS / rounds, TIMEOUT).await?;
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
    let mut jobs = fixture.batch(BATCH_NAME, JOBS);
    let stored = fixture.stored_batch(BATCH_NAME, JOBS / STORED_EVERY).await?;
    for (job, (_, spec, end)) in jobs.iter_mut().step_by(STORED_EVERY).zip(stored) {
        (job.1, job.2) = (spec, end);
    }
    for (_, spec, _) in &mut jobs {
        spec["backoffLimit"] = json!(BACKOFF_LIMIT);
    }
    Ok(jobs)
}

async fn disturb(fixture: &FaultFixture<'_>, disturbance: Disturbance) -> Result<()> {
    match disturbance {
        Disturbance::Pod(fault) => inject(fixture, fault).await.map(drop),
        Disturbance::ControllersAway => {
            fixture.scale_controllers(0).await?;
            fixture.hold("no controller runs", CONTROLLERS_AWAY).await;
            fixture.scale_controllers(2).await
        }
        Disturbance::ControllerCut { which } => {
            let port = fixture.platform.external_services().await?.database_port()?;
            let address = fixture.pod_address(Role::Controller, which).await?;
            firewall::block_external(fixture.platform, &address, port)?;
            fixture.hold("one controller cannot reach Postgres", CONTROLLER_CUT).await;
            firewall::unblock(fixture.platform)
        }
        Disturbance::WorkerCut { which } => {
            let address = fixture.pod_address(Role::Node, which).await?;
            firewall::block_forwarded(fixture.platform, &address, PORT)?;
            fixture.hold("one worker cannot reach the controllers", WORKER_CUT).await;
            firewall::unblock(fixture.platform)
        }
        Disturbance::StoreErrors => {
            let gateway = fixture.platform.external_services().await?.s3().gateway();
            gateway.fail();
            fixture.hold("the object store answers 503", STORE_ERRORS).await;
            gateway.heal();
            Ok(())
        }
    }
}
