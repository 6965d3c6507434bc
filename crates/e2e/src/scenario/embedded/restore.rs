//! The store is restored from a backup: scores stay, and jobs that the backup lacks are submitted again.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use vmafx_api::job::Phase;

use super::fixture::{EmbeddedFixture, STORE};
use crate::steps::Steps;

const JOBS: usize = 4;
const BATCHES: [(&str, usize); 4] =
    [("finished", JOBS), ("spanning", JOBS), ("lost", 2 * JOBS), ("afterwards", JOBS)];
const DEPLOYMENT: &str = "deployment/vmafx-controller";
const POD: &str = "restore";

pub(super) async fn run(fixture: &EmbeddedFixture<'_>, steps: &mut Steps) -> Result<()> {
    let backup = format!("{STORE}/backup.db");
    let before = async {
        fixture.submit("finished", JOBS, &json!({})).await?;
        fixture.verify("finished", JOBS).await?;
        fixture.submit("spanning", JOBS, &json!({})).await?;
        fixture.until_phase("spanning", Phase::Running).await?;
        let program = ["exec", DEPLOYMENT, "--", "/usr/bin/vmafx-controller"];
        fixture.kubectl.run(&[&program[..], &["backup", "--to", &backup]].concat()).await
    };
    steps.step("embedded: back up the store while jobs run", before).await?;
    let after = async {
        fixture.verify_scores("spanning", JOBS).await?;
        fixture.submit("lost", 2 * JOBS, &json!({})).await?;
        fixture.until_phase("lost", Phase::Succeeded).await
    };
    steps.step("embedded: jobs end and others begin after the backup", after).await?;
    let title = "embedded: restore the backup; every job keeps or gets its score";
    let recovery = steps.step(title, restored(fixture, &backup)).await?;
    let jobs = BATCHES.map(|(_, count)| count).iter().sum::<usize>();
    println!("        jobs {jobs}, scores {jobs}, recovered after {:.1} s", recovery.as_secs_f64());
    Ok(())
}

/// Returns the time from the start of the restored controller until every job had its score.
async fn restored(fixture: &EmbeddedFixture<'_>, backup: &str) -> Result<Duration> {
    let deployment = fixture.kubectl.get(&[DEPLOYMENT]).await?;
    fixture.kubectl.run(&["scale", DEPLOYMENT, "--replicas=0"]).await?;
    let selector = "--selector=app.kubernetes.io/component=controller";
    fixture.kubectl.run(&["wait", "--for=delete", "pod", selector, "--timeout=60s"]).await?;
    let pod = restore_pod(&deployment, backup).context("the Deployment has no container")?;
    fixture.kubectl.apply(&pod.to_string()).await?;
    fixture.kubectl.wait("jsonpath={.status.phase}=Succeeded", &format!("pod/{POD}")).await?;
    fixture.kubectl.run(&["scale", DEPLOYMENT, "--replicas=1"]).await?;
    let started = Instant::now();
    fixture.kubectl.wait("condition=Available", DEPLOYMENT).await?;
    fixture.submit("afterwards", JOBS, &json!({})).await?;
    for (batch, count) in BATCHES {
        fixture.verify_scores(batch, count).await?;
    }
    Ok(started.elapsed())
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
