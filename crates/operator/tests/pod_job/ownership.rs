//! Whose a Kubernetes Job is.

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams};
use rstest::rstest;
use serde_json::{Value, json};

use crate::scene::{JOB, Scene, message};

/// One of the name that the resource's would have.
fn namesake(labels: &Value) -> Job {
    serde_json::from_value(json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": JOB, "labels": labels },
        "spec": { "suspend": true, "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "theirs", "image": "theirs:1" }],
        } } },
    }))
    .unwrap()
}

#[rstest]
#[case::that_looks_like_ours(json!({ "vmafx.dev/job": "intro" }))]
#[case::that_does_not(json!({}))]
#[tokio::test]
async fn anothers_job_is_left_alone(#[case] labels: Value) {
    let scene = Scene::set().await;
    scene.jobs.create(&PostParams::default(), &namesake(&labels)).await.unwrap();
    let before = scene.jobs.get(JOB).await.unwrap();
    scene.create("intro", json!({}), json!({})).await;
    let job = scene.until_reason("Accepted", "ForeignOwner").await;
    assert!(
        message(&job, "Accepted").contains("was not made by the operator"),
        "{}",
        message(&job, "Accepted")
    );
    scene.change(json!({ "spec": { "cancel": true } })).await;
    scene.until_reason("Failed", "Cancelled").await;
    let after = scene.jobs.get(JOB).await.unwrap();
    assert_eq!((after.uid(), after.spec, after.metadata.owner_references), (before.uid(), before.spec, None));
}

#[tokio::test]
async fn the_name_is_used_once_it_is_free() {
    let scene = Scene::set().await;
    scene.jobs.create(&PostParams::default(), &namesake(&json!({ "vmafx.dev/job": "intro" }))).await.unwrap();
    scene.create("intro", json!({}), json!({})).await;
    scene.until_reason("Accepted", "ForeignOwner").await;
    scene.jobs.delete(JOB, &DeleteParams::background()).await.unwrap();
    // Nobody tells whose way is free; any change of the resource makes it look.
    scene.change(json!({ "metadata": { "annotations": { "look": "again" } } })).await;
    scene.until_reason("Accepted", "JobCreated").await;
}

#[tokio::test]
async fn a_job_that_vanishes_before_its_end_is_made_again() {
    let scene = Scene::with(json!({})).await;
    let first = scene.jobs.get(JOB).await.unwrap().uid();
    scene.pod(1).await;
    scene.jobs.delete(JOB, &DeleteParams::background()).await.unwrap();
    let again = scene.until_job("another Kubernetes Job", |job| job.uid() != first).await;
    assert_eq!(again.owner_references()[0].name, "intro");
    scene.until_reason("Accepted", "JobCreated").await;
}

#[tokio::test]
async fn a_resource_that_is_made_again_gets_a_job_of_its_own() {
    let scene = Scene::with(json!({})).await;
    let first = scene.jobs.get(JOB).await.unwrap().uid();
    scene.resources.delete("intro", &DeleteParams::background()).await.unwrap();
    let resource = scene.create("intro", json!({}), json!({})).await;
    let job = scene.until_job("another Kubernetes Job", |job| job.uid() != first).await;
    assert_eq!(Some(&job.owner_references()[0].uid), resource.uid().as_ref());
    scene.until_reason("Accepted", "JobCreated").await;
}
