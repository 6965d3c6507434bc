//! `wait`.

use kube::api::DeleteParams;
use serde_json::json;

use crate::harness::{Harness, RunningCommand, failed, pending, running, scored};

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_when_the_last_job_is_scored() {
    let harness = Harness::new().await;
    for name in ["a", "b", "c"] {
        harness.create_job(name, json!({})).await;
    }
    harness.set_job_status("a", &scored(91.5, None)).await;
    let waiting = RunningCommand::start(&harness, harness.command(&["wait", "a", "b", "c", "-o", "json"]));
    waiting.until("waiting for 2 jobs to be complete").await;
    harness.set_job_status("b", &running("worker-0")).await;
    harness.set_job_status("b", &scored(92.5, None)).await;
    harness.set_job_status("c", &scored(0.0, None)).await;
    let ran = waiting.end().await;
    let list: serde_json::Value = serde_json::from_str(&ran.ok()).unwrap();
    let scores: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|job| job["status"]["score"].as_f64()).collect();
    assert_eq!(scores, [Some(91.5), Some(92.5), Some(0.0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_otherwise_is_exit_code_1() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    harness.create_job("b", json!({})).await;
    harness.set_job_status("a", &scored(91.5, None)).await;
    let waiting = RunningCommand::start(&harness, harness.command(&["wait", "--all"]));
    waiting.until("waiting for 1 job to be complete").await;
    harness.set_job_status("b", &failed("Failed", "InputUnavailable", "no such clip")).await;
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.ends_with("b is Failed, not complete\n"), "{ran:?}");
    assert!(ran.stdout.contains("InputUnavailable"), "{ran:?}");
    assert_eq!(harness.kube(&["wait", "b", "--for=failed"]).code, Some(0));
    assert_eq!(harness.kube(&["wait", "a", "b", "--for=done"]).code, Some(0));
    assert_eq!(harness.kube(&["wait", "a", "--for=phase=Succeeded"]).code, Some(0));
    assert_eq!(harness.kube(&["wait", "a", "--for=condition=Complete"]).code, Some(0));
    assert_eq!(harness.kube(&["wait", "a", "--for=failed"]).code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_deleted_is_not_waited_for() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    harness.create_job("b", json!({})).await;
    let waiting = RunningCommand::start(&harness, harness.command(&["wait", "-l", "team=web"]));
    waiting.until("waiting for 2 jobs to be complete").await;
    harness.jobs().delete("b", &DeleteParams::default()).await.unwrap();
    // A job of the same name is another job.
    harness.create_job("b", json!({})).await;
    harness.set_job_status("a", &scored(91.5, None)).await;
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.ends_with("b was deleted\n"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_is_exit_code_124() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    harness.set_job_status("a", &pending("NoMatchingNode", "no node has cuda")).await;
    let ran = harness.kube(&["wait", "a", "--timeout=1s"]);
    assert_eq!(ran.code, Some(124), "{ran:?}");
    assert!(ran.stderr.contains("\na: timed out (kubectl vmafx explain a"), "{ran:?}");
    assert!(ran.stdout.contains("NoMatchingNode"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_of_an_older_generation_does_not_count() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    harness.set_job_status("a", &running("worker-0")).await;
    assert_eq!(harness.kube(&["wait", "a", "--for=running"]).code, Some(0));
    harness.kube(&["suspend", "a"]).ok();
    // The operator has not observed the suspension yet.
    assert_eq!(harness.kube(&["wait", "a", "--for=running", "--timeout=500ms"]).code, Some(124));
    let waiting = RunningCommand::start(&harness, harness.command(&["wait", "a", "--for=suspended"]));
    let mut suspended = pending("Suspended", "suspended");
    suspended["conditions"][4]["status"] = json!("True");
    suspended["conditions"][4]["reason"] = json!("Suspended");
    harness.set_job_status("a", &suspended).await;
    assert_eq!(waiting.end().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_the_jobs_alone() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    let waiting = RunningCommand::start(&harness, harness.command(&["wait", "a"]));
    waiting.until("waiting for 1 job").await;
    waiting.interrupt();
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.ends_with("stopped waiting; the jobs continue\n"), "{ran:?}");
    assert_eq!(harness.jobs().get("a").await.unwrap().data["spec"]["cancel"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_job_or_state_is_an_error() {
    let harness = Harness::new().await;
    harness.kube(&["wait", "nobody"]).error();
    let error = harness.kube(&["wait", "--all"]).error();
    assert!(error.contains("there is nothing to wait for"), "{error}");
    let error = harness.kube(&["wait", "a", "--for=lunch"]).error();
    assert!(error.contains("use complete, failed, done"), "{error}");
}
