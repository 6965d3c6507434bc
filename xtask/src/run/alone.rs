//! The queue and a node, where there is no Kubernetes.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::board::Board;
use super::next::{Next, Suggestion, line};
use super::{sample, stay};
use crate::one_machine::OneMachine;
use crate::test::cargo;
use crate::workspace;

const QUEUE: &str = "queue and node";
const JOB: &str = "job";

pub(super) fn run(runtime: &Runtime, keep: bool) -> Result<()> {
    println!("==> building vmafx, unless it is");
    cargo(&["build", "--locked", "--quiet", "--bin", "vmafx"], &[])?;
    println!("==> a job becomes a score");
    let mut board = Board::new();
    board.set(QUEUE, "starting", "vmafx up")?;
    let machine = OneMachine::start(runtime, workspace::debug("vmafx"), &sample::clips(), &[])?;
    board.set(QUEUE, "ready", machine.grpc())?;
    let pair = sample::pair();
    let words = ["submit", &pair[0], &pair[1]].into_iter().chain(sample::RAW).chain(sample::MODEL);
    let words: Vec<_> = words.chain(["--wait", "-o", "json"]).collect();
    board.set(JOB, "submitted", "")?;
    let output = machine.command(&words).output().context("run vmafx submit")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "vmafx submit: {said}");
    let (id, score) = scored(&output.stdout)?;
    board.set(JOB, "completed", &format!("score {score}"))?;
    sample::compare(score)?;
    let next = Next::new(None, &machine.variables())?;
    next.show(&suggestions(&id), keep);
    stay(runtime, keep)
}

/// The job and its score, from what `vmafx submit --wait` says.
fn scored(document: &[u8]) -> Result<(String, f64)> {
    let document: Value = serde_json::from_slice(document).context("the answer of vmafx submit")?;
    let job = &document["jobs"][0];
    let (id, score) = (job["id"].as_str(), job["score"].as_f64());
    Ok((id.context("the job has no id")?.to_owned(), score.context("the job has no score")?))
}

fn suggestions(id: &str) -> [Suggestion; 3] {
    let pair = sample::pair();
    let submit = ["vmafx", "submit", &pair[0], &pair[1]].into_iter();
    let submit = submit.chain(sample::RAW).chain(["--wait"]);
    [
        (format!("vmafx explain {id}"), "what became of the job"),
        (line(submit), "another one, of your own"),
        ("vmafx get jobs".to_owned(), "all of them"),
    ]
}
