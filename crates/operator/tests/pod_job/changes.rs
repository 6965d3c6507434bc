//! What becomes of a job when its resource changes.

use kube::ResourceExt as _;
use kube::api::DeleteParams;
use rstest::rstest;
use serde_json::json;
use vmafx_api::job::Phase;
use vmafx_testkit::wait;

use crate::kubelet::scored;
use crate::scene::{JOB, SOON, Scene, message, reason};

#[tokio::test]
async fn a_suspended_job_gives_its_pod_back_and_begins_again() {
    let scene = Scene::with(json!({})).await;
    let pod = scene.pod(1).await;
    scene.run(&pod).await;
    scene.until_phase(Phase::Running).await;
    let job = scene.jobs.get(JOB).await.unwrap();
    scene.change(json!({ "spec": { "suspend": true } })).await;
    scene.until_reason("Suspended", "Draining").await;
    scene.remove(&pod).await;
    let held = scene.until_reason("Suspended", "Suspended").await;
    assert_eq!(held.status.unwrap().phase, Some(Phase::Pending));
    scene.until_no_pods().await;
    scene.change(json!({ "spec": { "suspend": false } })).await;
    let pod = scene.pod(1).await;
    scene.run(&pod).await;
    scene.until_phase(Phase::Running).await;
    scene.end(&pod, 0, "Completed", &scored(80.0)).await;
    scene.until_phase(Phase::Succeeded).await;
    assert_eq!(scene.jobs.get(JOB).await.unwrap().uid(), job.uid(), "the same Kubernetes Job all the time");
}

#[tokio::test]
async fn a_job_that_is_suspended_from_the_start_has_no_pod() {
    let scene = Scene::set().await;
    scene.create("intro", json!({ "suspend": true }), json!({})).await;
    scene.until_reason("Suspended", "Suspended").await;
    scene
        .until_job("a suspended Kubernetes Job", |job| job.spec.as_ref().unwrap().suspend == Some(true))
        .await;
    scene.until_no_pods().await;
    scene.change(json!({ "spec": { "suspend": false } })).await;
    scene.pod(1).await;
}

#[tokio::test]
async fn a_cancelled_job_leaves_nothing_behind() {
    let scene = Scene::with(json!({})).await;
    let pod = scene.pod(1).await;
    let uid = scene.jobs.get(JOB).await.unwrap().uid().unwrap();
    scene.change(json!({ "spec": { "cancel": true } })).await;
    let job = scene.until_phase(Phase::Cancelled).await;
    assert_eq!(
        (reason(&job, "Failed").as_str(), job.status.unwrap().finished_at.is_some()),
        ("Cancelled", true)
    );
    scene.until_job_is_not(&uid).await;
    scene.remove(&pod).await;
    scene.until_no_pods().await;
    assert!(scene.jobs.get_opt(JOB).await.unwrap().is_none(), "it is not made again");
}

#[tokio::test]
async fn a_job_that_is_cancelled_before_it_began_makes_nothing() {
    let scene = Scene::set().await;
    scene.create("intro", json!({ "cancel": true }), json!({})).await;
    scene.until_phase(Phase::Cancelled).await;
    assert!(scene.jobs.get_opt(JOB).await.unwrap().is_none());
}

#[rstest]
#[case::background(DeleteParams::background())]
#[case::foreground(DeleteParams::foreground())]
#[tokio::test]
async fn a_deleted_job_takes_its_pod_with_it(#[case] how: DeleteParams) {
    let scene = Scene::with(json!({})).await;
    scene.pod(1).await;
    scene.resources.delete("intro", &how).await.unwrap();
    scene.until_no_pods().await;
    let gone = async || scene.jobs.get_opt(JOB).await.unwrap().is_none();
    wait::until(SOON, "the Kubernetes Job to be gone", gone).await.unwrap();
}

#[tokio::test]
async fn deadline_and_retries_follow_the_resource_and_nothing_else_is_touched() {
    let scene = Scene::with(json!({ "backoffLimit": 1 })).await;
    scene.change_job(json!({ "metadata": { "annotations": { "theirs": "kept" } } })).await;
    scene.change(json!({ "spec": { "backoffLimit": 4, "activeDeadlineSeconds": 600 } })).await;
    let job = scene
        .until_job("the new limits", |job| {
            let spec = job.spec.as_ref().unwrap();
            (spec.backoff_limit, spec.active_deadline_seconds) == (Some(4), Some(600))
        })
        .await;
    assert_eq!(job.annotations()["theirs"], "kept");
}

#[tokio::test]
async fn a_template_that_makes_no_pod_is_explained_and_can_be_corrected() {
    let scene = Scene::set().await;
    let template = |field: &str| json!({ "spec": { field: "ssd" } });
    scene.create("intro", json!({ "podTemplate": template("nodeSelektor") }), json!({})).await;
    let job = scene.until_reason("Accepted", "Invalid").await;
    assert!(message(&job, "Accepted").contains("nodeSelektor"), "{}", message(&job, "Accepted"));
    assert_eq!(job.status.unwrap().phase, Some(Phase::Pending));
    scene.change(json!({ "spec": { "podTemplate": { "spec": { "nodeSelektor": null, "schedulerName": "ssd" } } } })).await;
    scene.until_reason("Accepted", "JobCreated").await;
}
