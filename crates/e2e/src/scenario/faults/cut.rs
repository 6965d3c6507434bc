//! A node and the controllers do not hear each other for longer than a lease.
//!
//! The node goes on: it finishes what it has and wants to say so. Meanwhile its jobs are given to others. When it is
//! heard again, its results come too late: they are refused, and it goes on with other jobs.

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::LogParams;
use vmafx_testkit::wait;

use super::chance::Role;
use super::ground::Ground;
use super::logs::refused;
use super::queue::{expired_on, running_on};
use crate::platform::{PATIENCE, Platform};

const BATCH_NAME: &str = "unheard";
const JOBS: usize = 40;
const AFTERWARDS: &str = "heard";
/// How often a node may have nothing to do in the very moment in which it is cut off.
const ATTEMPTS: usize = 20;
/// The controllers' gRPC.
const PORT: u16 = 9090;
const TABLE: &str = "inet vmafx_cut";

/// Cuts, waits for what follows, and mends.
pub(super) async fn play(ground: &mut Ground<'_>) -> Result<()> {
    ground.submit(BATCH_NAME, JOBS).await?;
    let pods = ground.alive(Role::Node).await?;
    let pod = pods.first().context("there is no node")?;
    let lost = cut_while_busy(ground, pod).await;
    // Whatever was seen: nobody who comes after wants a cut network.
    let lost = match lost {
        Ok(lost) => {
            let given_up = given_to_others(ground, &lost).await;
            mend(ground.platform)?;
            given_up.map(|()| lost)
        }
        Err(error) => {
            let _ = mend(ground.platform);
            Err(error)
        }
    }?;
    too_late(ground, pod, &lost).await?;
    ground.settle(BATCH_NAME).await?;
    works_again(ground, pod).await
}

/// Cuts a node off in a moment in which it has jobs; those that were taken from it when their leases had ended.
async fn cut_while_busy(ground: &Ground<'_>, pod: &Pod) -> Result<Vec<String>> {
    let address =
        pod.status.as_ref().and_then(|status| status.pod_ip.as_ref()).context("a Pod without address")?;
    let node = pod.name_any();
    for _ in 0..ATTEMPTS {
        let busy = async || {
            let jobs = ground.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
            if running_on(&jobs, &node).is_empty() { Err("it has none".to_owned()) } else { Ok(()) }
        };
        wait::until(PATIENCE, &format!("{node} to have a job"), busy).await?;
        cut(ground.platform, address)?;
        let held = running_on(&ground.queue.jobs().await?, &node);
        let let_go = async || {
            let jobs = ground.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
            let left = running_on(&jobs, &node);
            if left.iter().any(|id| held.contains(id)) { Err(format!("{left:?}")) } else { Ok(jobs) }
        };
        let jobs = wait::until(PATIENCE, &format!("the leases of {node} to end"), let_go).await?;
        // A report that was under way in that moment was heard; its job was done in time.
        let lost = expired_on(&jobs, &node, &held);
        if !lost.is_empty() {
            return Ok(lost);
        }
        mend(ground.platform)?;
    }
    bail!("{node} had nothing to do in {ATTEMPTS} moments")
}

/// Others finish its jobs.
async fn given_to_others(ground: &Ground<'_>, lost: &[String]) -> Result<()> {
    let done = async || {
        let jobs = ground.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
        let left: Vec<_> =
            jobs.iter().filter(|job| lost.contains(&job.id) && job.status != "completed").collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    };
    Ok(wait::until(PATIENCE, "others to do what was taken away", done).await?)
}

/// Its results are refused, each of them.
async fn too_late(ground: &Ground<'_>, pod: &Pod, lost: &[String]) -> Result<()> {
    let node = pod.name_any();
    let fenced = async || {
        let log = ground.pods.logs(&node, &LogParams::default()).await.map_err(|error| error.to_string())?;
        let refused = refused(&log);
        if lost.iter().all(|id| refused.contains(id)) { Ok(()) } else { Err(format!("refused: {refused:?}")) }
    };
    Ok(wait::until(PATIENCE, &format!("what {node} says of {lost:?} to be refused"), fenced).await?)
}

/// It is the same process, and it has work again.
async fn works_again(ground: &mut Ground<'_>, pod: &Pod) -> Result<()> {
    let node = pod.name_any();
    let before: Vec<_> = ground.queue.jobs().await?.into_iter().map(|job| job.id).collect();
    ground.submit(AFTERWARDS, JOBS).await?;
    ground.settle(AFTERWARDS).await?;
    let jobs = ground.queue.jobs().await?;
    let new = jobs.iter().filter(|job| !before.contains(&job.id));
    let by_it = new.flat_map(|job| &job.attempts).filter(|attempt| attempt.node == node).count();
    ensure!(by_it > 0, "{node} got none of {JOBS} jobs after it was heard again");
    let same = ground.pods.get(&node).await?;
    ensure!(same.uid() == pod.uid(), "{node} was replaced, although it only was not heard");
    Ok(())
}

fn cut(platform: &Platform, address: &str) -> Result<()> {
    // After the Services' addresses were translated, in both directions.
    nft(
        platform,
        &format!(
            "add table {TABLE}; add chain {TABLE} forward {{ type filter hook forward priority -200; }}; \
             add rule {TABLE} forward ip saddr {address} tcp dport {PORT} drop; \
             add rule {TABLE} forward ip daddr {address} tcp sport {PORT} drop"
        ),
    )
}

fn mend(platform: &Platform) -> Result<()> {
    nft(platform, &format!("delete table {TABLE}"))
}

fn nft(platform: &Platform, rules: &str) -> Result<()> {
    let output = platform.cluster().run("nft", &[rules]).context("nft")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "nft {rules}: {}", said.trim());
    Ok(())
}
