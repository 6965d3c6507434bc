//! Jobs that a queue such as Kueue's decides about. The test plays Kueue: it lets a suspended Job go on.

use kube::ResourceExt as _;
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::job::Phase;

use crate::kubelet::scored;
use crate::scene::{JOB, Scene, message, reason, stage};

const QUEUE: &str = "kueue.x-k8s.io/queue-name";

fn is_suspended(job: &k8s_openapi::api::batch::v1::Job) -> bool {
    job.spec.as_ref().unwrap().suspend == Some(true)
}

/// In the queue `gpu`, with its Kubernetes Job there.
async fn queued() -> Scene {
    let scene = Scene::set().await;
    scene.create("intro", json!({}), json!({ QUEUE: "gpu", "kueue.x-k8s.io/priority-class": "high" })).await;
    let job = scene.until_reason("Running", "WaitingForAdmission").await;
    assert_eq!(message(&job, "Running"), "Kueue holds it back until its queue gpu admits it");
    assert_eq!(reason(&job, "Accepted"), "JobCreated");
    scene
}

#[tokio::test]
async fn a_queue_decides_when_a_job_begins() {
    let scene = queued().await;
    let job = scene.jobs.get(JOB).await.unwrap();
    assert_eq!((&*job.labels()[QUEUE], &*job.labels()["kueue.x-k8s.io/priority-class"]), ("gpu", "high"));
    let mark = stage().await.proxy.request_count();
    // Anything else about it may change; it stays where it is.
    scene.change(json!({ "spec": { "priority": 7 } })).await;
    scene
        .until("the change to be seen", |job| {
            job.status.as_ref().unwrap().observed_generation == job.metadata.generation
        })
        .await;
    assert!(is_suspended(&scene.jobs.get(JOB).await.unwrap()));
    let written: Vec<_> =
        scene.writes_since(mark).await.into_iter().map(|one| one.request.resource).collect();
    assert!(!written.contains(&"jobs".to_owned()), "{written:?}");

    scene.change_job(json!({ "spec": { "suspend": false } })).await;
    let pod = scene.pod(1).await;
    scene.run(&pod).await;
    scene.until_phase(Phase::Running).await;
    scene.end(&pod, 0, "Completed", &scored(80.0)).await;
    scene.until_phase(Phase::Succeeded).await;
}

#[tokio::test]
async fn a_job_that_its_queue_takes_back_waits_again() {
    let scene = queued().await;
    scene.change_job(json!({ "spec": { "suspend": false } })).await;
    let pod = scene.pod(1).await;
    scene.run(&pod).await;
    scene.until_phase(Phase::Running).await;
    scene.change_job(json!({ "spec": { "suspend": true } })).await;
    scene.remove(&pod).await;
    scene.until_reason("Running", "WaitingForAdmission").await;
    assert!(is_suspended(&scene.jobs.get(JOB).await.unwrap()));
}

#[tokio::test]
async fn a_suspended_resource_leaves_its_queue_and_returns_to_its_end() {
    let scene = queued().await;
    let uid = scene.jobs.get(JOB).await.unwrap().uid().unwrap();
    scene.change(json!({ "spec": { "suspend": true } })).await;
    scene.until_reason("Suspended", "Suspended").await;
    scene.until_job_is_not(&uid).await;
    assert!(scene.jobs.get_opt(JOB).await.unwrap().is_none(), "its queue would start it");
    scene.change(json!({ "spec": { "suspend": false } })).await;
    scene.until_reason("Running", "WaitingForAdmission").await;
    assert!(is_suspended(&scene.jobs.get(JOB).await.unwrap()));
}

#[rstest]
#[case::one_that_nobody_asked_for(json!({}))]
#[tokio::test]
async fn a_job_that_somebody_else_suspended_is_left_so(#[case] labels: Value) {
    let scene = Scene::set().await;
    scene.create("intro", json!({}), labels).await;
    scene.until_reason("Accepted", "JobCreated").await;
    scene.change_job(json!({ "spec": { "suspend": true } })).await;
    let job = scene.until_reason("Running", "WaitingForAdmission").await;
    assert!(message(&job, "Running").contains("suspended by somebody else"), "{}", message(&job, "Running"));
    assert!(is_suspended(&scene.jobs.get(JOB).await.unwrap()));
}

#[tokio::test]
async fn whoever_starts_a_held_job_is_not_fought() {
    let scene = Scene::with(json!({})).await;
    let uid = scene.jobs.get(JOB).await.unwrap().uid().unwrap();
    scene.change(json!({ "spec": { "suspend": true } })).await;
    scene.until_job("the Kubernetes Job to be held", is_suspended).await;
    scene.change_job(json!({ "spec": { "suspend": false } })).await;
    scene.until_job_is_not(&uid).await;
    scene.until_reason("Suspended", "Suspended").await;
}
