//! The StatefulSet of a node, from its first day to its last.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_testkit::wait;

use crate::scene::{SET, SOON, Scene, message, reason, tracked};

fn one_worker() -> Value {
    json!({ "gpuVendor": "cpu" })
}

/// A StatefulSet of the name that the node's would have.
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
    let scene = Scene::set().await;
    let node = scene.node(json!({ "gpuVendor": "cpu", "replicas": 2 })).await;
    let uid = scene.tracked().await;
    let set = scene.sets.get(SET).await.unwrap();
    assert_eq!(set.uid(), Some(uid));
    let owner = &set.owner_references()[0];
    assert_eq!((owner.controller, Some(owner.uid.clone())), (Some(true), node.uid()));
    let status = scene.until_reason("WorkloadSynced", "AsExpected").await.status.unwrap();
    assert_eq!(status.stateful_set.unwrap().name, SET);
    assert_eq!(status.selector.as_deref(), Some("vmafx.dev/workload=vmafx-node-pool"));
    assert_eq!(status.observed_generation, Some(1));
    scene.all::<Service>().get(SET).await.unwrap();
    scene.all::<PodDisruptionBudget>().get(SET).await.unwrap();
    scene
        .until("two workers", |node| node.status.as_ref().is_some_and(|status| status.replicas == Some(2)))
        .await;
    let node = scene.until_reason("Ready", "WorkersStarting").await;
    assert_eq!(message(&node, "Ready"), "0 of 2 workers are ready");
    assert_eq!(scene.until_event("Created").await[0], "Created");
}

#[tokio::test]
async fn a_paused_node_scales_to_zero_and_comes_back() {
    let scene = Scene::set().await;
    scene.node(json!({ "gpuVendor": "cpu", "replicas": 2 })).await;
    let uid = scene.tracked().await;
    scene.wants(2).await;
    scene.change(json!({ "spec": { "paused": true } })).await;
    scene.wants(0).await;
    let node = scene.until_reason("Paused", "Drained").await;
    assert_eq!(reason(&node, "Ready"), "Drained");
    assert!(scene.all::<Pod>().list(&ListParams::default()).await.unwrap().items.is_empty());
    scene.change(json!({ "spec": { "paused": false } })).await;
    scene.wants(2).await;
    let node = scene.until_reason("Paused", "Resumed").await;
    assert_eq!(tracked(&node), Some(uid), "the same StatefulSet all the time");
    let events = scene.until_event("Resumed").await;
    assert!(events.contains(&"Drained".to_owned()), "{events:?}");
}

#[tokio::test]
async fn the_stateful_set_is_recreated_after_it_was_deleted() {
    let scene = Scene::set().await;
    scene.node(one_worker()).await;
    let first = scene.tracked().await;
    scene.delete_set().await;
    scene.tracked_other_than(&first).await;
    scene.until_event("Recreated").await;
}

/// Removes the tracked StatefulSet and puts one of its name in its place before the operator can.
async fn replace_by(scene: &Scene, impostor: &StatefulSet) -> String {
    // While the finalizer is there the operator waits; the new one is made in the moment it goes.
    let hold = json!({ "metadata": { "finalizers": ["test.vmafx.dev/hold"] } });
    scene.sets.patch(SET, &PatchParams::default(), &Patch::Merge(hold)).await.unwrap();
    scene.delete_set().await;
    scene.until_reason("WorkloadSynced", "Terminating").await;
    let release = json!({ "metadata": { "finalizers": null } });
    scene.sets.patch(SET, &PatchParams::default(), &Patch::Merge(release)).await.unwrap();
    wait::until(SOON, "the impostor to be there", || async {
        match scene.sets.create(&PostParams::default(), impostor).await {
            Ok(made) => Ok(made.uid().unwrap()),
            Err(error) => {
                // The operator was faster: again.
                let _ = scene.sets.delete(SET, &DeleteParams::default()).await;
                Err(error.to_string())
            }
        }
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn an_impostor_is_replaced_once_and_then_there_is_peace() {
    let scene = Scene::set().await;
    scene.node(one_worker()).await;
    let first = scene.tracked().await;
    let impostor = replace_by(&scene, &namesake(&our_labels())).await;
    let last = scene.tracked_other_than(&first).await;
    assert_ne!(last, impostor, "an impostor is never ours");
    scene.until_reason("WorkloadSynced", "AsExpected").await;
    // Every change of a label is another pass.
    for pass in 0..10 {
        scene.change(json!({ "metadata": { "annotations": { "pass": pass.to_string() } } })).await;
    }
    scene.change(json!({ "spec": { "replicas": 3 } })).await;
    assert_eq!(scene.wants(3).await.uid(), Some(last), "no churn");
    let replaced = scene
        .until_event("ReplacingImpostor")
        .await
        .iter()
        .filter(|reason| *reason == "ReplacingImpostor")
        .count();
    assert_eq!(replaced, 1);
}

#[tokio::test]
async fn a_status_that_names_another_stateful_set_makes_ours_the_impostor() {
    let scene = Scene::set().await;
    scene.node(one_worker()).await;
    let first = scene.tracked().await;
    let forged = json!({ "status": { "statefulSet": { "name": SET, "uid": "00000000-forged" } } });
    scene.nodes.patch_status("pool", &PatchParams::default(), &Patch::Merge(forged)).await.unwrap();
    let second = scene.until("a third one", |node| {
        tracked(node).is_some_and(|uid| uid != first && uid != "00000000-forged")
    });
    let second = tracked(&second.await).unwrap();
    scene.change(json!({ "spec": { "replicas": 2 } })).await;
    assert_eq!(scene.wants(2).await.uid(), Some(second), "the fresh one is not replaced again");
}

#[tokio::test]
async fn one_that_nobody_controls_and_that_fits_is_adopted() {
    let scene = Scene::set().await;
    let made = scene.sets.create(&PostParams::default(), &namesake(&our_labels())).await.unwrap();
    scene.node(one_worker()).await;
    assert_eq!(Some(scene.tracked().await), made.uid());
    let set = scene.wants(1).await;
    assert_eq!(set.uid(), made.uid());
    let image = &set.spec.unwrap().template.spec.unwrap().containers[0].image;
    assert_eq!(image.as_deref(), Some("vmafx-node:1"));
    scene.until_event("Adopted").await;
}

#[tokio::test]
async fn one_that_does_not_fit_is_left_alone() {
    let scene = Scene::set().await;
    let theirs = namesake(&json!({ "app": "theirs" }));
    let made = scene.sets.create(&PostParams::default(), &theirs).await.unwrap();
    scene.node(one_worker()).await;
    let node = scene.until_reason("WorkloadSynced", "Incompatible").await;
    assert!(message(&node, "WorkloadSynced").contains("selector"), "{node:?}");
    assert_eq!(scene.sets.get(SET).await.unwrap().metadata.generation, made.metadata.generation);
    scene.delete_set().await;
    scene.tracked_other_than(&made.uid().unwrap()).await;
}

#[tokio::test]
async fn one_that_belongs_to_somebody_else_is_neither_written_nor_deleted() {
    let scene = Scene::set().await;
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "theirs" } });
    let owners = scene.all::<ConfigMap>();
    let owner = owners.create(&PostParams::default(), &serde_json::from_value(owner).unwrap()).await.unwrap();
    let mut theirs = namesake(&our_labels());
    theirs.metadata.owner_references = Some(
        serde_json::from_value(json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": owner.uid(), "controller": true,
        }]))
        .unwrap(),
    );
    let made = scene.sets.create(&PostParams::default(), &theirs).await.unwrap();
    scene.node(one_worker()).await;
    let node = scene.until_reason("WorkloadSynced", "ForeignOwner").await;
    assert!(message(&node, "WorkloadSynced").contains("ConfigMap theirs"), "{node:?}");
    scene.change(json!({ "spec": { "replicas": 5 } })).await;
    scene
        .until("the new generation", |node| {
            node.status.as_ref().is_some_and(|status| status.observed_generation == Some(2))
        })
        .await;
    let after = scene.sets.get(SET).await.unwrap();
    assert_eq!((after.uid(), after.metadata.generation), (made.uid(), made.metadata.generation));
    assert_eq!(scene.until_event("ForeignOwner").await, ["ForeignOwner"]);
}

#[tokio::test]
async fn one_whose_owner_reference_was_taken_away_is_left_alone_until_it_is_asked_back() {
    let scene = Scene::set().await;
    scene.node(one_worker()).await;
    let uid = scene.tracked().await;
    let stripped = json!({ "metadata": { "ownerReferences": null } });
    scene.sets.patch(SET, &PatchParams::default(), &Patch::Merge(stripped)).await.unwrap();
    scene.until_reason("WorkloadSynced", "HandedOver").await;
    scene.change(json!({ "metadata": { "annotations": { "vmafx.dev/adopt": "true" } } })).await;
    let node = scene.until_reason("WorkloadSynced", "AsExpected").await;
    assert_eq!(tracked(&node), Some(uid));
    assert_eq!(scene.sets.get(SET).await.unwrap().owner_references().len(), 1);
}

#[tokio::test]
async fn what_others_change_is_put_back() {
    let scene = Scene::set().await;
    scene.node(json!({ "gpuVendor": "cpu", "replicas": 2 })).await;
    let uid = scene.tracked().await;
    let meddling =
        json!({ "spec": { "replicas": 7 }, "metadata": { "labels": { "vmafx.dev/workload": "x" } } });
    scene.sets.patch(SET, &PatchParams::default(), &Patch::Merge(meddling)).await.unwrap();
    let set = scene.wants(2).await;
    assert_eq!((set.uid(), set.labels()["vmafx.dev/workload"].as_str()), (Some(uid), SET));
    scene.all::<Service>().delete(SET, &DeleteParams::default()).await.unwrap();
    wait::until(SOON, "the Service to be back", || async { scene.all::<Service>().get(SET).await })
        .await
        .unwrap();
}

#[tokio::test]
async fn everything_goes_with_the_node() {
    let scene = Scene::set().await;
    scene.node(one_worker()).await;
    scene.tracked().await;
    scene.nodes.delete("pool", &DeleteParams::default()).await.unwrap();
    wait::until(SOON, "nothing to be left", || async {
        let sets = scene.sets.get_opt(SET).await.unwrap().is_none();
        let services = scene.all::<Service>().get_opt(SET).await.unwrap().is_none();
        sets && services && scene.all::<PodDisruptionBudget>().get_opt(SET).await.unwrap().is_none()
    })
    .await
    .unwrap();
}
