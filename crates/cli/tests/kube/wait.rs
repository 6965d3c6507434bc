//! What `wait` waits for, and how it ends.

use kube::api::DeleteParams;
use serde_json::json;

use crate::stage::{Stage, Started, failed, runs, scored, waits};

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_when_the_last_job_is_scored() {
    let stage = Stage::set().await;
    for name in ["a", "b", "c"] {
        stage.job(name, json!({})).await;
    }
    stage.says("a", &scored(91.5, None)).await;
    let waiting = Started::start(&stage, stage.command(&["wait", "a", "b", "c", "-o", "json"]));
    waiting.until("waiting for 2 jobs to be complete").await;
    stage.says("b", &runs("worker-0")).await;
    stage.says("b", &scored(92.5, None)).await;
    stage.says("c", &scored(0.0, None)).await;
    let ran = waiting.end().await;
    let list: serde_json::Value = serde_json::from_str(&ran.ok()).unwrap();
    let scores: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|job| job["status"]["score"].as_f64()).collect();
    assert_eq!(scores, [Some(91.5), Some(92.5), Some(0.0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_otherwise_is_exit_code_1() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    stage.job("b", json!({})).await;
    stage.says("a", &scored(91.5, None)).await;
    let waiting = Started::start(&stage, stage.command(&["wait", "--all"]));
    waiting.until("waiting for 1 job to be complete").await;
    stage.says("b", &failed("Failed", "InputUnavailable", "no such clip")).await;
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.ends_with("b is Failed, not complete\n"), "{ran:?}");
    assert!(ran.stdout.contains("InputUnavailable"), "{ran:?}");
    assert_eq!(stage.kube(&["wait", "b", "--for=failed"]).code, Some(0));
    assert_eq!(stage.kube(&["wait", "a", "b", "--for=done"]).code, Some(0));
    assert_eq!(stage.kube(&["wait", "a", "--for=phase=Succeeded"]).code, Some(0));
    assert_eq!(stage.kube(&["wait", "a", "--for=condition=Complete"]).code, Some(0));
    assert_eq!(stage.kube(&["wait", "a", "--for=failed"]).code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_deleted_is_not_waited_for() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    stage.job("b", json!({})).await;
    let waiting = Started::start(&stage, stage.command(&["wait", "-l", "team=web"]));
    waiting.until("waiting for 2 jobs to be complete").await;
    stage.jobs().delete("b", &DeleteParams::default()).await.unwrap();
    // The same name is another job.
    stage.job("b", json!({})).await;
    stage.says("a", &scored(91.5, None)).await;
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.ends_with("b was deleted\n"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_come_in_time_is_exit_code_124() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    stage.says("a", &waits("NoMatchingNode", "no node has cuda")).await;
    let ran = stage.kube(&["wait", "a", "--timeout=1s"]);
    assert_eq!(ran.code, Some(124), "{ran:?}");
    assert!(ran.stderr.contains("\na: not in time (kubectl vmafx explain a"), "{ran:?}");
    assert!(ran.stdout.contains("NoMatchingNode"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn running_and_suspended_speak_of_the_spec_as_it_is() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    stage.says("a", &runs("worker-0")).await;
    assert_eq!(stage.kube(&["wait", "a", "--for=running"]).code, Some(0));
    stage.kube(&["suspend", "a"]).ok();
    // The operator has not seen the suspension yet.
    assert_eq!(stage.kube(&["wait", "a", "--for=running", "--timeout=500ms"]).code, Some(124));
    let waiting = Started::start(&stage, stage.command(&["wait", "a", "--for=suspended"]));
    let mut held = waits("Suspended", "held back");
    held["conditions"][4]["status"] = json!("True");
    held["conditions"][4]["reason"] = json!("Suspended");
    stage.says("a", &held).await;
    assert_eq!(waiting.end().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_the_jobs_alone() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    let waiting = Started::start(&stage, stage.command(&["wait", "a"]));
    waiting.until("waiting for 1 job").await;
    waiting.interrupt();
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.ends_with("not waited for any more; the jobs go on\n"), "{ran:?}");
    assert_eq!(stage.jobs().get("a").await.unwrap().data["spec"]["cancel"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_waited_for_is_an_error() {
    let stage = Stage::set().await;
    stage.kube(&["wait", "nobody"]).refused();
    let said = stage.kube(&["wait", "--all"]).refused();
    assert!(said.contains("nothing to wait for"), "{said}");
    let said = stage.kube(&["wait", "a", "--for=lunch"]).refused();
    assert!(said.contains("use complete, failed, done"), "{said}");
}
