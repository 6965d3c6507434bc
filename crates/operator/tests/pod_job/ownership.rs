//! Kubernetes Jobs of other owners.

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams};
use rstest::rstest;
use serde_json::{Value, json};

use crate::fixture::{Fixture, JOB};
use crate::resources::message;

/// A Job of another owner with the name that the operator would use.
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
    let fixture = Fixture::new().await;
    fixture.jobs.create(&PostParams::default(), &namesake(&labels)).await.unwrap();
    let before = fixture.jobs.get(JOB).await.unwrap();
    fixture.create("intro", json!({}), json!({})).await;
    let job = fixture.until_reason("Accepted", "ForeignOwner").await;
    assert!(
        message(&job, "Accepted").contains("was not created by the operator"),
        "{}",
        message(&job, "Accepted")
    );
    fixture.change(json!({ "spec": { "cancel": true } })).await;
    fixture.until_reason("Failed", "Cancelled").await;
    let after = fixture.jobs.get(JOB).await.unwrap();
    assert_eq!((after.uid(), after.spec, after.metadata.owner_references), (before.uid(), before.spec, None));
}

#[tokio::test]
async fn the_name_is_used_once_it_is_free() {
    let fixture = Fixture::new().await;
    fixture
        .jobs
        .create(&PostParams::default(), &namesake(&json!({ "vmafx.dev/job": "intro" })))
        .await
        .unwrap();
    fixture.create("intro", json!({}), json!({})).await;
    fixture.until_reason("Accepted", "ForeignOwner").await;
    fixture.jobs.delete(JOB, &DeleteParams::background()).await.unwrap();
    // The Job of another owner is not watched; any change of the resource leads to another reconcile.
    fixture.change(json!({ "metadata": { "annotations": { "changed": "yes" } } })).await;
    fixture.until_reason("Accepted", "JobCreated").await;
}

#[tokio::test]
async fn a_job_that_vanishes_before_its_end_is_made_again() {
    let fixture = Fixture::with(json!({})).await;
    let first = fixture.jobs.get(JOB).await.unwrap().uid();
    fixture.pod(1).await;
    fixture.jobs.delete(JOB, &DeleteParams::background()).await.unwrap();
    let again = fixture.until_job("another Kubernetes Job", |job| job.uid() != first).await;
    assert_eq!(again.owner_references()[0].name, "intro");
    fixture.until_reason("Accepted", "JobCreated").await;
}

#[tokio::test]
async fn a_resource_that_is_made_again_gets_a_job_of_its_own() {
    let fixture = Fixture::with(json!({})).await;
    let first = fixture.jobs.get(JOB).await.unwrap().uid();
    fixture.resources.delete("intro", &DeleteParams::background()).await.unwrap();
    let resource = fixture.create("intro", json!({}), json!({})).await;
    let job = fixture.until_job("another Kubernetes Job", |job| job.uid() != first).await;
    assert_eq!(Some(&job.owner_references()[0].uid), resource.uid().as_ref());
    fixture.until_reason("Accepted", "JobCreated").await;
}
