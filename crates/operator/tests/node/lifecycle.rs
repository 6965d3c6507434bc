//! The StatefulSet of a node, from its creation to its deletion.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_testkit::wait;

use crate::fixture::{NodeFixture, SET, tracked};
use crate::resources::{TIMEOUT, message, reason};

fn one_worker() -> Value {
    json!({ "gpuVendor": "cpu" })
}

/// A StatefulSet with the name of the node's.
fn namesake(labels: &Value) -> StatefulSet {
    serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": { "name": SET },
        "spec": {
            "replicas": 0, "serviceName": SET, "podManagementPolicy": "Parallel",
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "agent", "image": "old:0" }] },
            },
        },
    }))
    .unwrap()
}

fn our_labels() -> Value {
    json!({ "vmafx.dev/workload": SET })
}

#[tokio::test]
async fn the_stateful_set_is_tracked_on_the_status() {
    let fixture = NodeFixture::new().await;
    let node = fixture.node(json!({ "gpuVendor": "cpu", "replicas": 2 })).await;
    let uid = fixture.tracked().await;
    let set = fixture.sets.get(SET).await.unwrap();
    assert_eq!(set.uid(), Some(uid));
    let owner = &set.owner_references()[0];
    assert_eq!((owner.controller, Some(owner.uid.clone())), (Some(true), node.uid()));
    let status = fixture.until_reason("WorkloadSynced", "AsExpected").await.status.unwrap();
    assert_eq!(status.stateful_set.unwrap().name, SET);
    assert_eq!(status.selector.as_deref(), Some("vmafx.dev/workload=vmafx-node-pool"));
    assert_eq!(status.observed_generation, Some(1));
    fixture.all::<Service>().get(SET).await.unwrap();
    fixture.all::<PodDisruptionBudget>().get(SET).await.unwrap();
    fixture
        .until("two workers", |node| node.status.as_ref().is_some_and(|status| status.replicas == Some(2)))
        .await;
    let node = fixture.until_reason("Ready", "WorkersStarting").await;
    assert_eq!(message(&node, "Ready"), "0 of 2 workers are ready");
    assert_eq!(fixture.until_event("Created").await[0], "Created");
}

#[tokio::test]
async fn a_paused_node_scales_to_zero_and_comes_back() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu", "replicas": 2 })).await;
    let uid = fixture.tracked().await;
    fixture.wait_for_replicas(2).await;
    fixture.change(json!({ "spec": { "paused": true } })).await;
    fixture.wait_for_replicas(0).await;
    let node = fixture.until_reason("Paused", "Drained").await;
    assert_eq!(reason(&node, "Ready"), "Drained");
    assert!(fixture.all::<Pod>().list(&ListParams::default()).await.unwrap().items.is_empty());
    fixture.change(json!({ "spec": { "paused": false } })).await;
    fixture.wait_for_replicas(2).await;
    let node = fixture.until_reason("Paused", "Resumed").await;
    assert_eq!(tracked(&node), Some(uid), "the StatefulSet was not replaced");
    let events = fixture.until_event("Resumed").await;
    assert!(events.contains(&"Drained".to_owned()), "{events:?}");
}

#[tokio::test]
async fn the_stateful_set_is_recreated_after_it_was_deleted() {
    let fixture = NodeFixture::new().await;
    fixture.node(one_worker()).await;
    let first = fixture.tracked().await;
    fixture.delete_set().await;
    fixture.tracked_other_than(&first).await;
    fixture.until_event("Recreated").await;
}

/// Deletes the tracked StatefulSet and creates another with its name before the operator does.
async fn replace_by(fixture: &NodeFixture, impostor: &StatefulSet) -> String {
    // The operator waits while the finalizer exists; the impostor is created as soon as it is removed.
    let hold = json!({ "metadata": { "finalizers": ["test.vmafx.dev/hold"] } });
    fixture.sets.patch(SET, &PatchParams::default(), &Patch::Merge(hold)).await.unwrap();
    fixture.delete_set().await;
    fixture.until_reason("WorkloadSynced", "Terminating").await;
    let release = json!({ "metadata": { "finalizers": null } });
    fixture.sets.patch(SET, &PatchParams::default(), &Patch::Merge(release)).await.unwrap();
    wait::until(TIMEOUT, "the impostor to exist", || async {
        match fixture.sets.create(&PostParams::default(), impostor).await {
            Ok(made) => Ok(made.uid().unwrap()),
            Err(error) => {
                // The operator was faster: try again.
                let _ = fixture.sets.delete(SET, &DeleteParams::default()).await;
                Err(error.to_string())
            }
        }
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn an_impostor_is_replaced_exactly_once() {
    let fixture = NodeFixture::new().await;
    fixture.node(one_worker()).await;
    let first = fixture.tracked().await;
    let impostor = replace_by(&fixture, &namesake(&our_labels())).await;
    let last = fixture.tracked_other_than(&first).await;
    assert_ne!(last, impostor, "the impostor must not be tracked");
    fixture.until_reason("WorkloadSynced", "AsExpected").await;
    // Every change of an annotation causes another pass.
    for pass in 0..10 {
        fixture.change(json!({ "metadata": { "annotations": { "pass": pass.to_string() } } })).await;
    }
    fixture.change(json!({ "spec": { "replicas": 3 } })).await;
    assert_eq!(fixture.wait_for_replicas(3).await.uid(), Some(last), "the StatefulSet was replaced again");
    let replaced = fixture
        .until_event("ReplacingImpostor")
        .await
        .iter()
        .filter(|reason| *reason == "ReplacingImpostor")
        .count();
    assert_eq!(replaced, 1);
}

#[tokio::test]
async fn a_status_that_names_another_stateful_set_makes_ours_the_impostor() {
    let fixture = NodeFixture::new().await;
    fixture.node(one_worker()).await;
    let first = fixture.tracked().await;
    let forged = json!({ "status": { "statefulSet": { "name": SET, "uid": "00000000-forged" } } });
    fixture.nodes.patch_status("pool", &PatchParams::default(), &Patch::Merge(forged)).await.unwrap();
    let second = fixture.until("a third one", |node| {
        tracked(node).is_some_and(|uid| uid != first && uid != "00000000-forged")
    });
    let second = tracked(&second.await).unwrap();
    fixture.change(json!({ "spec": { "replicas": 2 } })).await;
    assert_eq!(fixture.wait_for_replicas(2).await.uid(), Some(second), "the fresh one is not replaced again");
}

#[tokio::test]
async fn a_compatible_stateful_set_without_controller_is_adopted() {
    let fixture = NodeFixture::new().await;
    let made = fixture.sets.create(&PostParams::default(), &namesake(&our_labels())).await.unwrap();
    fixture.node(one_worker()).await;
    assert_eq!(Some(fixture.tracked().await), made.uid());
    let set = fixture.wait_for_replicas(1).await;
    assert_eq!(set.uid(), made.uid());
    let image = &set.spec.unwrap().template.spec.unwrap().containers[0].image;
    assert_eq!(image.as_deref(), Some("vmafx-node:1"));
    fixture.until_event("Adopted").await;
}

#[tokio::test]
async fn an_incompatible_stateful_set_is_left_alone() {
    let fixture = NodeFixture::new().await;
    let theirs = namesake(&json!({ "app": "theirs" }));
    let made = fixture.sets.create(&PostParams::default(), &theirs).await.unwrap();
    fixture.node(one_worker()).await;
    let node = fixture.until_reason("WorkloadSynced", "Incompatible").await;
    assert!(message(&node, "WorkloadSynced").contains("selector"), "{node:?}");
    assert_eq!(fixture.sets.get(SET).await.unwrap().metadata.generation, made.metadata.generation);
    fixture.delete_set().await;
    fixture.tracked_other_than(&made.uid().unwrap()).await;
}

#[tokio::test]
async fn a_stateful_set_of_another_owner_is_neither_written_nor_deleted() {
    let fixture = NodeFixture::new().await;
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "theirs" } });
    let owners = fixture.all::<ConfigMap>();
    let owner = owners.create(&PostParams::default(), &serde_json::from_value(owner).unwrap()).await.unwrap();
    let mut theirs = namesake(&our_labels());
    theirs.metadata.owner_references = Some(
        serde_json::from_value(json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": owner.uid(), "controller": true,
        }]))
        .unwrap(),
    );
    let made = fixture.sets.create(&PostParams::default(), &theirs).await.unwrap();
    fixture.node(one_worker()).await;
    let node = fixture.until_reason("WorkloadSynced", "ForeignOwner").await;
    assert!(message(&node, "WorkloadSynced").contains("ConfigMap theirs"), "{node:?}");
    fixture.change(json!({ "spec": { "replicas": 5 } })).await;
    fixture
        .until("the new generation", |node| {
            node.status.as_ref().is_some_and(|status| status.observed_generation == Some(2))
        })
        .await;
    let after = fixture.sets.get(SET).await.unwrap();
    assert_eq!((after.uid(), after.metadata.generation), (made.uid(), made.metadata.generation));
    assert_eq!(fixture.until_event("ForeignOwner").await, ["ForeignOwner"]);
}

#[tokio::test]
async fn a_stateful_set_without_its_owner_reference_is_left_alone_until_adoption_is_requested() {
    let fixture = NodeFixture::new().await;
    fixture.node(one_worker()).await;
    let uid = fixture.tracked().await;
    let stripped = json!({ "metadata": { "ownerReferences": null } });
    fixture.sets.patch(SET, &PatchParams::default(), &Patch::Merge(stripped)).await.unwrap();
    fixture.until_reason("WorkloadSynced", "HandedOver").await;
    fixture.change(json!({ "metadata": { "annotations": { "vmafx.dev/adopt": "true" } } })).await;
    let node = fixture.until_reason("WorkloadSynced", "AsExpected").await;
    assert_eq!(tracked(&node), Some(uid));
    assert_eq!(fixture.sets.get(SET).await.unwrap().owner_references().len(), 1);
}

#[tokio::test]
async fn changes_by_other_clients_are_reverted() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu", "replicas": 2 })).await;
    let uid = fixture.tracked().await;
    let change =
        json!({ "spec": { "replicas": 7 }, "metadata": { "labels": { "vmafx.dev/workload": "x" } } });
    fixture.sets.patch(SET, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    let set = fixture.wait_for_replicas(2).await;
    assert_eq!((set.uid(), set.labels()["vmafx.dev/workload"].as_str()), (Some(uid), SET));
    fixture.all::<Service>().delete(SET, &DeleteParams::default()).await.unwrap();
    wait::until(TIMEOUT, "the Service to exist again", || async { fixture.all::<Service>().get(SET).await })
        .await
        .unwrap();
}

#[tokio::test]
async fn all_objects_are_deleted_with_the_node() {
    let fixture = NodeFixture::new().await;
    fixture.node(one_worker()).await;
    fixture.tracked().await;
    fixture.nodes.delete("pool", &DeleteParams::default()).await.unwrap();
    wait::until(TIMEOUT, "all objects to be deleted", || async {
        let sets = fixture.sets.get_opt(SET).await.unwrap().is_none();
        let services = fixture.all::<Service>().get_opt(SET).await.unwrap().is_none();
        sets && services && fixture.all::<PodDisruptionBudget>().get_opt(SET).await.unwrap().is_none()
    })
    .await
    .unwrap();
}
