//! Jobs in a queue of Kueue. The test acts as Kueue: it resumes suspended Jobs.

use kube::ResourceExt as _;
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::job::Phase;

use crate::fixture::{Fixture, JOB, cluster};
use crate::kubelet::scored;
use crate::resources::{message, reason};

const QUEUE: &str = "kueue.x-k8s.io/queue-name";

fn is_suspended(job: &k8s_openapi::api::batch::v1::Job) -> bool {
    job.spec.as_ref().unwrap().suspend == Some(true)
}

/// With a job in the queue `gpu` whose Kubernetes Job exists.
async fn queued() -> Fixture {
    let fixture = Fixture::new().await;
    fixture
        .create("intro", json!({}), json!({ QUEUE: "gpu", "kueue.x-k8s.io/priority-class": "high" }))
        .await;
    let job = fixture.until_reason("Running", "WaitingForAdmission").await;
    assert_eq!(message(&job, "Running"), "waiting for Kueue to admit the job to the queue gpu");
    assert_eq!(reason(&job, "Accepted"), "JobCreated");
    fixture
}

#[tokio::test]
async fn a_queue_decides_when_a_job_begins() {
    let fixture = queued().await;
    let job = fixture.jobs.get(JOB).await.unwrap();
    assert_eq!((&*job.labels()[QUEUE], &*job.labels()["kueue.x-k8s.io/priority-class"]), ("gpu", "high"));
    let mark = cluster().await.proxy.request_count();
    // Other changes of the resource do not start the Job.
    fixture.change(json!({ "spec": { "priority": 7 } })).await;
    fixture
        .until("the change to be observed", |job| {
            job.status.as_ref().unwrap().observed_generation == job.metadata.generation
        })
        .await;
    assert!(is_suspended(&fixture.jobs.get(JOB).await.unwrap()));
    let written: Vec<_> =
        fixture.writes_since(mark).await.into_iter().map(|one| one.request.resource).collect();
    assert!(!written.contains(&"jobs".to_owned()), "{written:?}");

    fixture.change_job(json!({ "spec": { "suspend": false } })).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.end(&pod, 0, "Completed", &scored(80.0)).await;
    fixture.until_phase(Phase::Succeeded).await;
}

#[tokio::test]
async fn a_job_that_its_queue_takes_back_waits_again() {
    let fixture = queued().await;
    fixture.change_job(json!({ "spec": { "suspend": false } })).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.change_job(json!({ "spec": { "suspend": true } })).await;
    fixture.remove(&pod).await;
    fixture.until_reason("Running", "WaitingForAdmission").await;
    assert!(is_suspended(&fixture.jobs.get(JOB).await.unwrap()));
}

#[tokio::test]
async fn a_suspended_resource_leaves_its_queue_and_returns_to_its_end() {
    let fixture = queued().await;
    let uid = fixture.jobs.get(JOB).await.unwrap().uid().unwrap();
    fixture.change(json!({ "spec": { "suspend": true } })).await;
    fixture.until_reason("Suspended", "Suspended").await;
    fixture.until_job_is_not(&uid).await;
    assert!(fixture.jobs.get_opt(JOB).await.unwrap().is_none(), "its queue would start it");
    fixture.change(json!({ "spec": { "suspend": false } })).await;
    fixture.until_reason("Running", "WaitingForAdmission").await;
    assert!(is_suspended(&fixture.jobs.get(JOB).await.unwrap()));
}

#[rstest]
#[case::one_that_nobody_asked_for(json!({}))]
#[tokio::test]
async fn a_job_that_somebody_else_suspended_is_left_so(#[case] labels: Value) {
    let fixture = Fixture::new().await;
    fixture.create("intro", json!({}), labels).await;
    fixture.until_reason("Accepted", "JobCreated").await;
    fixture.change_job(json!({ "spec": { "suspend": true } })).await;
    let job = fixture.until_reason("Running", "WaitingForAdmission").await;
    assert!(message(&job, "Running").contains("suspended by another client"), "{}", message(&job, "Running"));
    assert!(is_suspended(&fixture.jobs.get(JOB).await.unwrap()));
}

#[tokio::test]
async fn whoever_starts_a_held_job_is_not_fought() {
    let fixture = Fixture::with(json!({})).await;
    let uid = fixture.jobs.get(JOB).await.unwrap().uid().unwrap();
    fixture.change(json!({ "spec": { "suspend": true } })).await;
    fixture.until_job("the Kubernetes Job to be held", is_suspended).await;
    fixture.change_job(json!({ "spec": { "suspend": false } })).await;
    fixture.until_job_is_not(&uid).await;
    fixture.until_reason("Suspended", "Suspended").await;
}
