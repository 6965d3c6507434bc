//! Changes of the resource.

use kube::ResourceExt as _;
use kube::api::DeleteParams;
use rstest::rstest;
use serde_json::json;
use vmafx_api::job::Phase;
use vmafx_testkit::wait;

use crate::fixture::{Fixture, JOB};
use crate::kubelet::scored;
use crate::resources::{TIMEOUT, message, reason};

#[tokio::test]
async fn a_suspended_job_gives_its_pod_back_and_begins_again() {
    let fixture = Fixture::with(json!({})).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    let job = fixture.jobs.get(JOB).await.unwrap();
    fixture.change(json!({ "spec": { "suspend": true } })).await;
    fixture.until_reason("Suspended", "Draining").await;
    fixture.remove(&pod).await;
    let suspended = fixture.until_reason("Suspended", "Suspended").await;
    assert_eq!(suspended.status.unwrap().phase, Some(Phase::Pending));
    fixture.until_no_pods().await;
    fixture.change(json!({ "spec": { "suspend": false } })).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.end(&pod, 0, "Completed", &scored(80.0)).await;
    fixture.until_phase(Phase::Succeeded).await;
    assert_eq!(fixture.jobs.get(JOB).await.unwrap().uid(), job.uid(), "the same Kubernetes Job all the time");
}

#[tokio::test]
async fn a_job_that_is_suspended_from_the_start_has_no_pod() {
    let fixture = Fixture::new().await;
    fixture.create("intro", json!({ "suspend": true }), json!({})).await;
    fixture.until_reason("Suspended", "Suspended").await;
    fixture
        .until_job("a suspended Kubernetes Job", |job| job.spec.as_ref().unwrap().suspend == Some(true))
        .await;
    fixture.until_no_pods().await;
    fixture.change(json!({ "spec": { "suspend": false } })).await;
    fixture.pod(1).await;
}

#[tokio::test]
async fn a_cancelled_job_leaves_nothing_behind() {
    let fixture = Fixture::with(json!({})).await;
    let pod = fixture.pod(1).await;
    let uid = fixture.jobs.get(JOB).await.unwrap().uid().unwrap();
    fixture.change(json!({ "spec": { "cancel": true } })).await;
    let job = fixture.until_phase(Phase::Cancelled).await;
    assert_eq!(
        (reason(&job, "Failed").as_str(), job.status.unwrap().finished_at.is_some()),
        ("Cancelled", true)
    );
    fixture.until_job_is_not(&uid).await;
    fixture.remove(&pod).await;
    fixture.until_no_pods().await;
    assert!(fixture.jobs.get_opt(JOB).await.unwrap().is_none(), "it is not created again");
}

#[tokio::test]
async fn a_job_that_is_cancelled_before_it_began_makes_nothing() {
    let fixture = Fixture::new().await;
    fixture.create("intro", json!({ "cancel": true }), json!({})).await;
    fixture.until_phase(Phase::Cancelled).await;
    assert!(fixture.jobs.get_opt(JOB).await.unwrap().is_none());
}

#[rstest]
#[case::background(DeleteParams::background())]
#[case::foreground(DeleteParams::foreground())]
#[tokio::test]
async fn a_deleted_job_takes_its_pod_with_it(#[case] how: DeleteParams) {
    let fixture = Fixture::with(json!({})).await;
    fixture.pod(1).await;
    fixture.resources.delete("intro", &how).await.unwrap();
    fixture.until_no_pods().await;
    let gone = async || fixture.jobs.get_opt(JOB).await.unwrap().is_none();
    wait::until(TIMEOUT, "the Kubernetes Job to be gone", gone).await.unwrap();
}

#[tokio::test]
async fn deadline_and_retries_follow_the_resource_and_nothing_else_is_touched() {
    let fixture = Fixture::with(json!({ "backoffLimit": 1 })).await;
    fixture.change_job(json!({ "metadata": { "annotations": { "theirs": "kept" } } })).await;
    fixture.change(json!({ "spec": { "backoffLimit": 4, "activeDeadlineSeconds": 600 } })).await;
    let job = fixture
        .until_job("the new limits", |job| {
            let spec = job.spec.as_ref().unwrap();
            (spec.backoff_limit, spec.active_deadline_seconds) == (Some(4), Some(600))
        })
        .await;
    assert_eq!(job.annotations()["theirs"], "kept");
}

#[tokio::test]
async fn a_template_that_makes_no_pod_is_explained_and_can_be_corrected() {
    let fixture = Fixture::new().await;
    let template = |field: &str| json!({ "spec": { field: "ssd" } });
    fixture.create("intro", json!({ "podTemplate": template("nodeSelektor") }), json!({})).await;
    let job = fixture.until_reason("Accepted", "Invalid").await;
    assert!(message(&job, "Accepted").contains("nodeSelektor"), "{}", message(&job, "Accepted"));
    assert_eq!(job.status.unwrap().phase, Some(Phase::Pending));
    fixture.change(json!({ "spec": { "podTemplate": { "spec": { "nodeSelektor": null, "schedulerName": "ssd" } } } })).await;
    fixture.until_reason("Accepted", "JobCreated").await;
}
