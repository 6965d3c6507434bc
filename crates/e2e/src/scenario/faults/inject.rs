//! Pods of all roles are deleted and killed while jobs are created, scored and reported.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::DeleteParams;

use super::fixture::{BATCH_TIMEOUT, FaultFixture};
use super::plan::{Fault, FaultKind, fault_plan};
use super::pods::ReleasePods;
use crate::steps::Steps;

/// Environment variable with the seed of a run that is to be repeated.
pub(super) const SEED: &str = "VMAFX_E2E_SEED";
const BATCH_NAME: &str = "inject";
const JOBS: usize = 500;
/// Rounds of faults, spread over the batch: the first before any job has ended, the last while some are left.
const ROUNDS: usize = 12;

pub(super) async fn run(fixture: &mut FaultFixture<'_>, steps: &mut Steps) -> Result<()> {
    let seed = seed()?;
    let name = format!("faults: {JOBS} jobs while Pods are deleted and killed ({SEED}={seed})");
    let injected = steps.step(&name, submit_and_inject(fixture, seed)).await?;
    for (fault, times) in injected {
        println!("        {times} times: {fault}");
    }
    Ok(())
}

async fn submit_and_inject(fixture: &mut FaultFixture<'_>, seed: u64) -> Result<BTreeMap<String, usize>> {
    let batch = fixture.batch(BATCH_NAME, JOBS);
    let create = fixture.create(&batch);
    let faults = async {
        let mut injected = BTreeMap::new();
        for (round, faults) in fault_plan(seed, ROUNDS).into_iter().enumerate() {
            // Faults follow the progress of the jobs, not the clock, so a slow machine gets as many as a fast one.
            fixture.ledger.history.until_ended(BATCH_NAME, round * JOBS / ROUNDS, BATCH_TIMEOUT).await?;
            for fault in faults {
                if inject(&fixture.pods, fault).await? {
                    *injected.entry(fault.to_string()).or_default() += 1;
                }
            }
        }
        anyhow::Ok(injected)
    };
    let ((), injected) = tokio::try_join!(create, faults)?;
    fixture.verify_batch(BATCH_NAME).await?;
    fixture.until_all_ready().await?;
    Ok(injected)
}

/// Injects a fault; `false` if no Pod of its role is running.
pub(super) async fn inject(pods: &ReleasePods<'_>, fault: Fault) -> Result<bool> {
    let live = pods.live(fault.role).await?;
    let running: Vec<_> = live.iter().filter_map(|pod| Some((pod, container(pod)?))).collect();
    if running.is_empty() {
        return Ok(false);
    }
    let (pod, container) = &running[fault.which % running.len()];
    match fault.kind {
        FaultKind::Delete => delete(pods, pod, &DeleteParams::default()).await?,
        FaultKind::ForceDelete => delete(pods, pod, &DeleteParams::default().grace_period(0)).await?,
        // The container may have stopped since the Pods were listed.
        FaultKind::Kill => drop(pods.platform.cluster().kill_container(container)),
    }
    Ok(true)
}

/// Id of the Pod's container, if it is running.
fn container(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    status.state.as_ref()?.running.as_ref()?;
    Some(status.container_id.as_ref()?.split_once("://")?.1.to_owned())
}

async fn delete(pods: &ReleasePods<'_>, pod: &Pod, how: &DeleteParams) -> Result<()> {
    match pods.api.delete(&pod.name_any(), how).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot delete {}", pod.name_any())),
    }
}

/// The seed from the environment, else a new one in every run.
pub(super) fn seed() -> Result<u64> {
    match std::env::var(SEED) {
        Ok(text) => text.parse().with_context(|| format!("{SEED} must be a number")),
        Err(_) => Ok(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()),
    }
}
