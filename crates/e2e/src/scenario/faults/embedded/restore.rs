//! The store is restored from a backup: scores stay, and jobs that the backup lacks are submitted again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::ResourceExt as _;
use serde_json::{Value, json};
use vmafx_api::VmafxJob;
use vmafx_api::job::Phase;
use vmafx_testkit::wait;

use super::super::ledger::{JobLedger, ensure_none};
use super::super::summary::FaultSummary;
use super::super::verify::ObservedJob;
use super::fixture::{DEPLOYMENT, EmbeddedFixture, STORE};
use super::restored::{is_open, restored_violations, scored_again};
use crate::platform::STEP_TIMEOUT;
use crate::steps::Steps;

const JOBS: usize = 4;
const POD: &str = "restore";

/// A backup, and the jobs whose ends it certainly has.
pub(super) struct Backup {
    path: String,
    ended: BTreeSet<String>,
}

/// What the restores of a run took back.
#[derive(Default)]
pub(super) struct RestoreRecord {
    /// Names of the jobs whose ends are in their resources and not in the store.
    taken_back: BTreeSet<String>,
    /// The job of the queue that each unfinished resource had before a restore.
    queued_as: BTreeMap<String, String>,
}

pub(super) async fn run(fixture: &mut EmbeddedFixture<'_>, steps: &mut Steps) -> Result<()> {
    let none = |_| json!({});
    let before = async {
        fixture.submit("finished", JOBS, none).await?;
        fixture.verify_batch("finished").await?;
        fixture.submit("spanning", JOBS, none).await?;
        fixture.until_phase("spanning", Phase::Running).await?;
        back_up(fixture).await
    };
    let backup = steps.step("embedded: back up the store while jobs run", before).await?;
    let after = async {
        fixture.verify_batch("spanning").await?;
        fixture.submit("lost", 2 * JOBS, none).await?;
        fixture.until_phase("lost", Phase::Succeeded).await
    };
    steps.step("embedded: jobs end and others begin after the backup", after).await?;
    let recover = async {
        let mut record = RestoreRecord::default();
        restore(fixture, &backup, &mut record).await?;
        let started = Instant::now();
        fixture.submit("afterwards", JOBS, none).await?;
        verify(fixture, &record, started, STEP_TIMEOUT).await
    };
    let title = "embedded: restore the backup; every job keeps or gets its score";
    let summary = steps.step(title, recover).await?;
    println!("        {summary}");
    Ok(())
}

/// Backs up the store while the controller runs.
pub(super) async fn back_up(fixture: &mut EmbeddedFixture<'_>) -> Result<Backup> {
    let jobs = fixture.ledger.list().await?;
    let ended = jobs.iter().filter(|job| has_ended(job)).map(kube::ResourceExt::name_any).collect();
    let tries = AtomicUsize::new(fixture.backups);
    // A controller that was killed a moment ago cannot run the command, and its next try needs a new file.
    let back_up = async || {
        let path = format!("{STORE}/backup-{}.db", tries.fetch_add(1, Ordering::Relaxed));
        let program = ["exec", DEPLOYMENT, "--", "/usr/bin/vmafx-controller"];
        let command = [&program[..], &["backup", "--to", &path]].concat();
        fixture.kubectl.run(&command).await.map(|_| path).map_err(|error| format!("{error:#}"))
    };
    let path = wait::until(STEP_TIMEOUT, "a backup of the store", back_up).await?;
    fixture.backups = tries.into_inner();
    Ok(Backup { path, ended })
}

/// Stops the controller, replaces its store and starts it again.
pub(super) async fn restore(
    fixture: &mut EmbeddedFixture<'_>,
    backup: &Backup,
    record: &mut RestoreRecord,
) -> Result<()> {
    let deployment = fixture.kubectl.get(&[DEPLOYMENT]).await?;
    fixture.scale_controller(0).await?;
    let pod = restore_pod(&deployment, &backup.path).context("the Deployment has no container")?;
    fixture.kubectl.apply(&pod.to_string()).await?;
    fixture.kubectl.wait("jsonpath={.status.phase}=Succeeded", &format!("pod/{POD}")).await?;
    fixture.kubectl.run(&["delete", "pod", POD, "--timeout=60s"]).await?;
    // Nothing ends without a controller, so these are the jobs that ended after the backup.
    for job in fixture.ledger.list().await? {
        let (name, has_ended) = (job.name_any(), has_ended(&job));
        if has_ended && !backup.ended.contains(&name) {
            record.taken_back.insert(name);
        } else if !has_ended {
            let queued_as = job.status.and_then(|status| status.controller_job_id);
            record.queued_as.extend(queued_as.map(|id| (name, id)));
        }
    }
    fixture.scale_controller(1).await
}

/// Waits until all jobs have ended, and verifies them; prints what the restores took back.
pub(super) async fn verify(
    fixture: &mut EmbeddedFixture<'_>,
    record: &RestoreRecord,
    since: Instant,
    timeout: Duration,
) -> Result<FaultSummary> {
    let ended = fixture.ledger.until_batch_ended("", timeout).await?;
    let recovery = since.elapsed();
    // A job whose end was taken back may run once more, which nobody waits for.
    let closed = async || {
        let jobs = fixture.queue.jobs().await.map_err(|error| format!("{error:#}"))?;
        let open = jobs.iter().filter(|job| is_open(job)).count();
        if open == 0 { Ok(()) } else { Err(format!("{open} are open")) }
    };
    let closed = wait::until(STEP_TIMEOUT, "no job of the store to be open", closed).await;
    let queue = fixture.queue.jobs().await?;
    let JobLedger { requested, history, .. } = &fixture.ledger;
    let resources = history.jobs();
    let summary = FaultSummary::of("", &resources, &queue, recovery);
    let found = restored_violations(requested, &resources, &queue, &record.taken_back);
    ensure_none(&found).with_context(|| summary.to_string())?;
    ended?;
    closed?;
    let again = |job: &&ObservedJob| {
        record.queued_as.get(&job.name).is_some_and(|id| job.controller_job.as_ref() != Some(id))
    };
    println!(
        "        restored: {} jobs submitted again; of {} whose end the backup lacked, {} scored again",
        resources.iter().filter(again).count(),
        record.taken_back.len(),
        scored_again(&resources, &queue, &record.taken_back)
    );
    Ok(summary)
}

fn has_ended(job: &VmafxJob) -> bool {
    job.status.as_ref().and_then(|status| status.phase).is_some_and(Phase::is_last)
}

/// A Pod that runs `vmafx-controller restore` with the image and the volumes of the controller.
fn restore_pod(deployment: &Value, backup: &str) -> Option<Value> {
    let mut spec = deployment["spec"]["template"]["spec"].clone();
    spec["restartPolicy"] = json!("Never");
    let container = spec["containers"].get_mut(0)?.as_object_mut()?;
    container.retain(|field, _| !field.ends_with("Probe"));
    container.insert("args".to_owned(), json!(["restore", "--from", backup]));
    Some(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": POD }, "spec": spec }))
}
