//! A node and the controllers cannot reach each other for longer than a lease.
//!
//! The node finishes its jobs and cannot report them. Meanwhile the leases expire and other nodes get the jobs. After the
//! partition the node's reports are too late: the controllers reject them, and the node gets other jobs.

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::LogParams;
use vmafx_testkit::wait;

use super::firewall;
use super::fixture::FaultFixture;
use super::logs::rejected_jobs;
use super::plan::Role;
use super::queue::{expired_on, running_on};
use crate::platform::STEP_TIMEOUT;

const BATCH_NAME: &str = "unheard";
const JOBS: usize = 40;
const AFTERWARDS: &str = "heard";
/// Partitions to try until one starts while the node holds a job.
const TRIES: usize = 20;
/// The controllers' gRPC port.
pub(super) const PORT: u16 = 9090;

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<()> {
    fixture.submit(BATCH_NAME, JOBS).await?;
    let pods = fixture.pods.live(Role::Node).await?;
    let pod = pods.first().context("there is no node")?;
    let lost = block_while_busy(fixture, pod).await;
    // The partition is removed even after a failure, since later scenarios use the same network.
    let lost = match lost {
        Ok(lost) => {
            let completed = completed_elsewhere(fixture, &lost).await;
            firewall::unblock(fixture.platform)?;
            completed.map(|()| lost)
        }
        Err(error) => {
            let _ = firewall::unblock(fixture.platform);
            Err(error)
        }
    }?;
    late_reports_are_rejected(fixture, pod, &lost).await?;
    fixture.verify_batch(BATCH_NAME).await?;
    gets_jobs_again(fixture, pod).await
}

/// Blocks a node while it holds jobs, and waits for their leases to expire; the jobs that expired.
async fn block_while_busy(fixture: &FaultFixture<'_>, pod: &Pod) -> Result<Vec<String>> {
    let address =
        pod.status.as_ref().and_then(|status| status.pod_ip.as_ref()).context("the Pod has no address")?;
    let node = pod.name_any();
    for _ in 0..TRIES {
        let busy = async || {
            let jobs = fixture.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
            if running_on(&jobs, &node).is_empty() { Err("it has no job".to_owned()) } else { Ok(()) }
        };
        wait::until(STEP_TIMEOUT, &format!("{node} to have a job"), busy).await?;
        firewall::block_forwarded(fixture.platform, address, PORT)?;
        let held = running_on(&fixture.queue.jobs().await?, &node);
        let expired = async || {
            let jobs = fixture.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
            let left = running_on(&jobs, &node);
            if left.iter().any(|id| held.contains(id)) { Err(format!("{left:?}")) } else { Ok(jobs) }
        };
        let jobs = wait::until(STEP_TIMEOUT, &format!("the leases of {node} to expire"), expired).await?;
        // A report that was already on its way may have arrived; then the job did not expire.
        let lost = expired_on(&jobs, &node, &held);
        if !lost.is_empty() {
            return Ok(lost);
        }
        firewall::unblock(fixture.platform)?;
    }
    bail!("{node} held no job in {TRIES} partitions")
}

async fn completed_elsewhere(fixture: &FaultFixture<'_>, lost: &[String]) -> Result<()> {
    let done = async || {
        let jobs = fixture.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
        let left: Vec<_> =
            jobs.iter().filter(|job| lost.contains(&job.id) && job.status != "completed").collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    };
    Ok(wait::until(STEP_TIMEOUT, "other nodes to complete the expired jobs", done).await?)
}

async fn late_reports_are_rejected(fixture: &FaultFixture<'_>, pod: &Pod, lost: &[String]) -> Result<()> {
    let node = pod.name_any();
    let fenced = async || {
        let log =
            fixture.pods.api.logs(&node, &LogParams::default()).await.map_err(|error| error.to_string())?;
        let rejected = rejected_jobs(&log);
        if lost.iter().all(|id| rejected.contains(id)) {
            Ok(())
        } else {
            Err(format!("rejected: {rejected:?}"))
        }
    };
    Ok(wait::until(STEP_TIMEOUT, &format!("the reports of {node} on {lost:?} to be rejected"), fenced)
        .await?)
}

/// The node was not replaced, and gets jobs again.
async fn gets_jobs_again(fixture: &mut FaultFixture<'_>, pod: &Pod) -> Result<()> {
    let node = pod.name_any();
    let before: Vec<_> = fixture.queue.jobs().await?.into_iter().map(|job| job.id).collect();
    fixture.submit(AFTERWARDS, JOBS).await?;
    fixture.verify_batch(AFTERWARDS).await?;
    let jobs = fixture.queue.jobs().await?;
    let new = jobs.iter().filter(|job| !before.contains(&job.id));
    let by_it = new.flat_map(|job| &job.attempts).filter(|attempt| attempt.node == node).count();
    ensure!(by_it > 0, "{node} got none of {JOBS} jobs after the partition");
    let same = fixture.pods.api.get(&node).await?;
    ensure!(same.uid() == pod.uid(), "{node} was replaced during the partition");
    Ok(())
}
