//! `make run` without Kubernetes: a queue with a node.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::next_steps::{NextSteps, Suggestion, line};
use super::progress::ProgressTable;
use super::{sample, wait_for_interrupt};
use crate::test::cargo;
use crate::vmafx_up::VmafxUp;
use crate::workspace;

const QUEUE: &str = "queue and node";
const JOB: &str = "job";

pub(super) fn run(runtime: &Runtime, keep: bool) -> Result<()> {
    println!("==> building vmafx");
    cargo(&["build", "--locked", "--bin", "vmafx"], &[])?;
    println!("==> scoring a job");
    let mut progress = ProgressTable::new();
    progress.set(QUEUE, "starting", "vmafx up")?;
    let up = VmafxUp::start(runtime, workspace::debug("vmafx"), &sample::clips(), &[])?;
    progress.set(QUEUE, "ready", up.grpc())?;
    let pair = sample::pair();
    let args = ["submit", &pair[0], &pair[1]].into_iter().chain(sample::RAW).chain(sample::MODEL);
    let args: Vec<_> = args.chain(["--wait", "-o", "json"]).collect();
    progress.set(JOB, "submitted", "")?;
    let output = up.command(&args).output().context("cannot run vmafx submit")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "vmafx submit: {stderr}");
    let (id, score) = scored(&output.stdout)?;
    progress.set(JOB, "completed", &format!("score {score}"))?;
    sample::compare(score)?;
    let next = NextSteps::new(None, &up.variables())?;
    next.show(&suggestions(&id), keep);
    wait_for_interrupt(runtime, keep)
}

/// Id and score of the job in the output of `vmafx submit --wait`.
fn scored(document: &[u8]) -> Result<(String, f64)> {
    let document: Value =
        serde_json::from_slice(document).context("cannot decode the output of vmafx submit")?;
    let job = &document["jobs"][0];
    let (id, score) = (job["id"].as_str(), job["score"].as_f64());
    Ok((id.context("the job has no id")?.to_owned(), score.context("the job has no score")?))
}

fn suggestions(id: &str) -> [Suggestion; 3] {
    let pair = sample::pair();
    let submit = ["vmafx", "submit", &pair[0], &pair[1]].into_iter();
    let submit = submit.chain(sample::RAW).chain(["--wait"]);
    [
        (format!("vmafx explain {id}"), "the state of the job"),
        (line(submit), "submit another job"),
        ("vmafx get jobs".to_owned(), "all jobs"),
    ]
}
