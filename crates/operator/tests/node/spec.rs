//! What a node asks for, and what becomes of it.

use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::scene::{SET, Scene, message, reason, tracked};

#[tokio::test]
async fn a_template_that_the_api_server_refuses_becomes_a_condition_with_its_words() {
    let scene = Scene::set().await;
    let wrong = json!({ "spec": { "containers": [{ "name": "agent", "imagePullPolicy": "Sometimes" }] } });
    scene.node(json!({ "gpuVendor": "cpu", "podTemplate": wrong })).await;
    let node = scene.until_reason("WorkloadSynced", "Invalid").await;
    assert!(message(&node, "WorkloadSynced").contains("imagePullPolicy"), "{node:?}");
    assert_eq!(reason(&node, "Ready"), "Invalid");
    let unknown = json!({ "spec": { "podTemplate": { "spec": {
        "containers": [{ "name": "agent", "imagePullPolicy": "Always" }], "inventedNextYear": true } } } });
    scene.change(unknown).await;
    scene
        .until("the unknown field to be named", |node| {
            message(node, "WorkloadSynced").contains("inventedNextYear")
        })
        .await;
    scene.change(json!({ "spec": { "podTemplate": { "spec": { "inventedNextYear": null } } } })).await;
    scene.until_reason("WorkloadSynced", "AsExpected").await;
    scene.tracked().await;
}

#[tokio::test]
async fn a_change_of_the_template_is_a_rollout_of_the_same_stateful_set() {
    let scene = Scene::set().await;
    scene.node(json!({ "gpuVendor": "cpu" })).await;
    let uid = scene.tracked().await;
    scene
        .until("workers", |node| node.status.as_ref().is_some_and(|status| status.replicas == Some(1)))
        .await;
    scene.change(json!({ "spec": { "image": "vmafx-node:2" } })).await;
    scene.until_reason("RolloutInProgress", "RollingOut").await;
    let set = scene.sets.get(SET).await.unwrap();
    assert_eq!(set.uid(), Some(uid));
    let image = &set.spec.unwrap().template.spec.unwrap().containers[0].image;
    assert_eq!(image.as_deref(), Some("vmafx-node:2"));
}

#[tokio::test]
async fn scaling_goes_through_the_scale_subresource() {
    let scene = Scene::set().await;
    scene.node(json!({ "gpuVendor": "cpu" })).await;
    scene.tracked().await;
    let three = json!({ "spec": { "replicas": 3 } });
    scene.nodes.patch_scale("pool", &PatchParams::default(), &Patch::Merge(three)).await.unwrap();
    scene.wants(3).await;
    scene
        .until("three workers", |node| node.status.as_ref().is_some_and(|status| status.replicas == Some(3)))
        .await;
    let scale = scene.nodes.get_scale("pool").await.unwrap();
    let status = scale.status.unwrap();
    assert_eq!(
        (status.replicas, status.selector.as_deref()),
        (3, Some("vmafx.dev/workload=vmafx-node-pool"))
    );
}

#[tokio::test]
async fn workers_that_somebody_else_runs_are_only_watched() {
    let scene = Scene::set().await;
    scene.node(json!({ "gpuVendor": "cpu", "managementPolicy": "External" })).await;
    let node = scene.until_reason("WorkloadSynced", "External").await;
    assert_eq!((tracked(&node), node.status.unwrap().healthy), (None, Some(true)));
    assert!(scene.sets.get_opt(SET).await.unwrap().is_none());
    scene.change(json!({ "spec": { "managementPolicy": "Managed" } })).await;
    scene.tracked().await;
}

#[tokio::test]
async fn a_service_in_the_way_is_named_and_left_alone() {
    let scene = Scene::set().await;
    let services = scene.all::<k8s_openapi::api::core::v1::Service>();
    let theirs = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": SET },
        "spec": { "ports": [{ "port": 80 }] } });
    let made =
        services.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    scene.node(json!({ "gpuVendor": "cpu" })).await;
    let node = scene.until_reason("WorkloadSynced", "ForeignOwner").await;
    assert!(message(&node, "WorkloadSynced").contains("Service"), "{node:?}");
    assert_eq!(services.get(SET).await.unwrap().resource_version(), made.resource_version());
}
