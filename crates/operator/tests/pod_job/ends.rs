//! How a job ends.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::job::Phase;

use crate::fixture::{Fixture, JOB, cluster};
use crate::kubelet::{ENDED, STARTED, failed, scored};
use crate::resources::{message, reason};

#[tokio::test]
async fn a_score_comes_back_from_the_pod_and_stays_when_the_kubernetes_job_goes() {
    let fixture = Fixture::new().await;
    let report = fixture.inside_roots("report.json");
    fixture.create("intro", json!({ "minScore": 0, "reportURI": report }), json!({})).await;
    fixture.until_reason("Accepted", "JobCreated").await;
    let job = fixture.jobs.get(JOB).await.unwrap();
    let owner = &job.owner_references()[0];
    assert_eq!(
        (owner.controller, Some(&owner.uid)),
        (Some(true), fixture.resources.get("intro").await.unwrap().uid().as_ref())
    );
    let pod = fixture.pod(1).await;
    assert_eq!(pod.labels()["vmafx.dev/job"], "intro");
    let root = format!("s3://clips/{}", fixture.namespace.name());
    let env = serde_json::to_value(&pod.spec.as_ref().unwrap().containers[0].env).unwrap();
    assert_eq!(env[1], json!({ "name": "VMAFX_SCORING_ROOTS", "value": root }));

    fixture.run(&pod).await;
    let status = fixture.until_phase(Phase::Running).await.status.unwrap();
    assert_eq!((status.assigned_node.as_deref(), status.attempts), (Some("k8s-1"), Some(1)));
    assert_eq!(status.message, Some(format!("Pod {} on k8s-1 is scoring the clips", pod.name_any())));

    fixture.end(&pod, 0, "Completed", &scored(0.0)).await;
    let done = fixture.until_phase(Phase::Succeeded).await;
    let status = done.status.clone().unwrap();
    assert_eq!((status.score, status.passed, status.frames), (Some(0.0), Some(true), Some(48)));
    assert_eq!(status.report_uri, Some(report));
    assert_eq!(status.scores.as_ref().unwrap().p50.to_bits(), 7.0_f64.to_bits());
    let time = |text: &str| Some(Time(text.parse().unwrap()));
    assert_eq!((status.started_at, status.finished_at), (time(STARTED), time(ENDED)));

    fixture
        .until_job("the Kubernetes Job to be complete", |job| {
            job.status.as_ref().is_some_and(|status| status.succeeded == Some(1))
        })
        .await;
    fixture.jobs.delete(JOB, &DeleteParams::background()).await.unwrap();
    fixture.until_no_pods().await;
    fixture.change(json!({ "spec": { "suspend": true }, "metadata": { "annotations": { "a": "b" } } })).await;
    let after = fixture.resources.get("intro").await.unwrap();
    assert_eq!((after.status, fixture.jobs.get_opt(JOB).await.unwrap().is_some()), (done.status, false));
}

#[rstest]
#[case::outside_the_roots(
    2,
    failed("InputDenied", 2, "/etc/passwd lies outside"),
    "InputRefused",
    "/etc/passwd lies outside"
)]
#[case::missing(2, failed("InputNotFound", 1, "there is no r.y4m"), "InputUnavailable", "there is no r.y4m")]
#[case::wrong_usage(64, String::new(), "Invalid", "use an image of the operator's release")]
#[case::cut(2, "{\"outcome\":\"Failed\",\"rea".to_owned(), "ScoringFailed", "left a result that cannot be read")]
#[tokio::test]
async fn what_is_at_fault_itself_is_not_tried_again(
    #[case] code: i32,
    #[case] left: String,
    #[case] expected: &str,
    #[case] text: &str,
) {
    let fixture = Fixture::with(json!({ "backoffLimit": 5 })).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.end(&pod, code, "Error", &left).await;
    let job = fixture.until_phase(Phase::Failed).await;
    assert_eq!(reason(&job, "Failed"), expected);
    assert!(message(&job, "Failed").contains(text), "{}", message(&job, "Failed"));
    assert_eq!(
        (job.status.as_ref().unwrap().attempts, fixture.pod(1).await.name_any()),
        (Some(1), pod.name_any())
    );
}

#[tokio::test]
async fn a_lost_pod_is_an_attempt_and_another_follows() {
    let fixture = Fixture::with(json!({ "backoffLimit": 1 })).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.end(&pod, 137, "OOMKilled", "").await;
    let job = fixture.until_reason("Running", "BackingOff").await;
    assert!(message(&job, "Running").contains("ran out of memory"), "{}", message(&job, "Running"));
    let second = fixture.pod(2).await;
    fixture.run(&second).await;
    fixture.until_phase(Phase::Running).await;
    fixture.end(&second, 0, "Completed", &scored(91.5)).await;
    let status = fixture.until_phase(Phase::Succeeded).await.status.unwrap();
    assert_eq!((status.attempts, status.score), (Some(2), Some(91.5)));
}

#[rstest]
#[case::memory(json!({ "phase": "Failed", "containerStatuses": [{ "name": "agent", "image": "", "imageID": "", "ready": false,
    "restartCount": 0, "state": { "terminated": { "exitCode": 137, "reason": "OOMKilled" } } }] }), "ran out of memory")]
#[case::kubelet(json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" }), "was terminated by Kubernetes (Evicted): low on memory")]
#[tokio::test]
async fn when_every_attempt_was_lost_the_last_one_says_why(#[case] status: Value, #[case] text: &str) {
    let fixture = Fixture::with(json!({ "backoffLimit": 0 })).await;
    let pod = fixture.pod(1).await;
    fixture.set_status(&pod, status).await;
    let job = fixture.until_phase(Phase::Failed).await;
    assert_eq!(reason(&job, "Failed"), "AttemptsExhausted");
    assert!(message(&job, "Failed").contains(text), "{}", message(&job, "Failed"));
}

#[tokio::test]
async fn what_kubernetes_took_away_was_no_attempt() {
    let fixture = Fixture::with(json!({ "backoffLimit": 0 })).await;
    let pod = fixture.pod(1).await;
    let taken = json!([{ "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained" }]);
    fixture.set_status(&pod, json!({ "phase": "Failed", "conditions": taken })).await;
    let second = fixture.pod(2).await;
    fixture.end(&second, 0, "Completed", &scored(50.0)).await;
    let status = fixture.until_phase(Phase::Succeeded).await.status.unwrap();
    assert_eq!(status.score, Some(50.0));
}

#[tokio::test]
async fn a_deadline_ends_a_job_that_waits_too() {
    let fixture = Fixture::with(json!({ "activeDeadlineSeconds": 2 })).await;
    let job = fixture.until_phase(Phase::Failed).await;
    assert_eq!(
        (reason(&job, "Failed").as_str(), message(&job, "Failed").as_str()),
        ("DeadlineExceeded", "the job took longer than 2 s")
    );
    fixture.until_no_pods().await;
}

#[tokio::test]
async fn why_a_pod_waits_is_said() {
    let fixture = Fixture::with(json!({})).await;
    let pod = fixture.pod(1).await;
    let unplaced = json!([{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu." }]);
    fixture.set_status(&pod, json!({ "conditions": unplaced })).await;
    let job = fixture.until_reason("Running", "Unschedulable").await;
    assert!(job.status.as_ref().unwrap().message.as_ref().unwrap().contains("Insufficient nvidia.com/gpu"));
    fixture
        .show(
            &pod,
            "Pending",
            json!({ "waiting": { "reason": "ErrImagePull", "message": "vmafx-node:1: not found" } }),
        )
        .await;
    fixture.set_status(&pod, json!({ "conditions": [{ "type": "PodScheduled", "status": "True" }] })).await;
    let job = fixture.until_reason("Running", "ImageUnavailable").await;
    assert!(message(&job, "Running").contains("vmafx-node:1: not found"), "{}", message(&job, "Running"));
}

#[tokio::test]
async fn a_result_that_was_removed_unread_is_lost_and_not_scored_again() {
    let fixture = Fixture::with(json!({})).await;
    let pod = fixture.pod(1).await;
    fixture.end(&pod, 0, "Completed", "hello").await;
    let job = fixture.until_phase(Phase::Failed).await;
    assert_eq!(reason(&job, "Failed"), "ResultLost");
}

#[tokio::test]
async fn a_watch_of_pods_that_is_behind_hides_nothing() {
    let fixture = Fixture::with(json!({})).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    let behind = cluster().await.proxy.hold_events("pods");
    fixture.end(&pod, 2, "Error", &failed("InputDenied", 2, "it lies outside")).await;
    let job = fixture.until_phase(Phase::Failed).await;
    drop(behind);
    let failure = (reason(&job, "Failed"), message(&job, "Failed"));
    assert_eq!(failure, ("InputRefused".to_owned(), "it lies outside".to_owned()));
}
