//! Pods of all kinds are deleted and killed while jobs are made, scored and written down.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::DeleteParams;

use super::chance::{Blow, Way, blows};
use super::ground::{BATCH, Ground};
use crate::steps::Steps;

/// To repeat a run: the number that it printed.
const SEED: &str = "VMAFX_E2E_SEED";
const BATCH_NAME: &str = "strike";
const JOBS: usize = 500;
/// The first round comes before the first job has ended, the last when some are left.
const ROUNDS: usize = 12;

/// 500 jobs, and blows as they get done.
pub(super) async fn play(ground: &mut Ground<'_>, steps: &mut Steps) -> Result<()> {
    let seed = seed()?;
    let name = format!("faults: {JOBS} jobs while Pods are struck ({SEED}={seed})");
    let struck = steps.step(&name, struck(ground, seed)).await?;
    for (blow, times) in struck {
        println!("        {times} times: {blow}");
    }
    Ok(())
}

async fn struck(ground: &mut Ground<'_>, seed: u64) -> Result<BTreeMap<String, usize>> {
    let batch = ground.batch(BATCH_NAME, JOBS);
    let make = ground.ask(&batch);
    let strike = async {
        let mut struck = BTreeMap::new();
        for (round, blows) in blows(seed, ROUNDS).into_iter().enumerate() {
            // As the work goes on, not as time goes by: a slow machine is struck as often as a fast one.
            ground.diary.until_over(BATCH_NAME, round * JOBS / ROUNDS, BATCH).await?;
            for blow in blows {
                if deal(ground, blow).await? {
                    *struck.entry(blow.to_string()).or_default() += 1;
                }
            }
        }
        anyhow::Ok(struck)
    };
    let ((), struck) = tokio::try_join!(make, strike)?;
    ground.settle(BATCH_NAME).await?;
    ground.until_whole().await?;
    Ok(struck)
}

/// Strikes a Pod; `false` when none of its role is there.
pub(super) async fn deal(ground: &Ground<'_>, blow: Blow) -> Result<bool> {
    let pods = ground.alive(blow.role).await?;
    let running: Vec<_> = pods.iter().filter_map(|pod| Some((pod, container(pod)?))).collect();
    if running.is_empty() {
        return Ok(false);
    }
    let (pod, container) = &running[blow.which % running.len()];
    match blow.way {
        Way::Asked => delete(ground, pod, &DeleteParams::default()).await?,
        Way::Forced => delete(ground, pod, &DeleteParams::default().grace_period(0)).await?,
        // It may have ended by itself between two looks.
        Way::Crashed => drop(ground.platform.cluster().kill_container(container)),
    }
    Ok(true)
}

/// The container of a Pod that runs.
fn container(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    status.state.as_ref()?.running.as_ref()?;
    Some(status.container_id.as_ref()?.split_once("://")?.1.to_owned())
}

async fn delete(ground: &Ground<'_>, pod: &Pod, how: &DeleteParams) -> Result<()> {
    match ground.pods.delete(&pod.name_any(), how).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error).with_context(|| format!("deleting {}", pod.name_any())),
    }
}

/// The one that the environment names, else another in every run.
fn seed() -> Result<u64> {
    match std::env::var(SEED) {
        Ok(text) => text.parse().with_context(|| format!("{SEED} must be a number")),
        Err(_) => Ok(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()),
    }
}
