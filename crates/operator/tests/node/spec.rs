//! Changes of a node's spec and their effect on its objects.

use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::fixture::{NodeFixture, SET, tracked};
use crate::resources::{message, reason};

#[tokio::test]
async fn a_template_that_the_api_server_refuses_becomes_a_condition_with_its_message() {
    let fixture = NodeFixture::new().await;
    // Kubernetes 1.31 accepts most other values of a StatefulSet's template, and refuses its Pods.
    let wrong = json!({ "spec": { "activeDeadlineSeconds": 5 } });
    fixture.node(json!({ "gpuVendor": "cpu", "podTemplate": wrong })).await;
    let node = fixture.until_reason("WorkloadSynced", "Invalid").await;
    assert!(message(&node, "WorkloadSynced").contains("activeDeadlineSeconds"), "{node:?}");
    assert_eq!(reason(&node, "Ready"), "Invalid");
    let unknown = json!({ "spec": { "podTemplate": { "spec": { "activeDeadlineSeconds": null, "inventedNextYear": true } } } });
    fixture.change(unknown).await;
    fixture
        .until("the unknown field to be named", |node| {
            message(node, "WorkloadSynced").contains("inventedNextYear")
        })
        .await;
    fixture.change(json!({ "spec": { "podTemplate": { "spec": { "inventedNextYear": null } } } })).await;
    fixture.until_reason("WorkloadSynced", "AsExpected").await;
    fixture.tracked().await;
}

#[tokio::test]
async fn a_change_of_the_template_is_a_rollout_of_the_same_stateful_set() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    let uid = fixture.tracked().await;
    fixture
        .until("workers", |node| node.status.as_ref().is_some_and(|status| status.replicas == Some(1)))
        .await;
    fixture.change(json!({ "spec": { "image": "vmafx-node:2" } })).await;
    fixture.until_reason("RolloutInProgress", "RollingOut").await;
    let set = fixture.sets.get(SET).await.unwrap();
    assert_eq!(set.uid(), Some(uid));
    let image = &set.spec.unwrap().template.spec.unwrap().containers[0].image;
    assert_eq!(image.as_deref(), Some("vmafx-node:2"));
}

#[tokio::test]
async fn the_time_that_a_new_worker_must_be_ready_changes_in_place() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu", "minReadySeconds": 30 })).await;
    let uid = fixture.tracked().await;
    for (value, expected) in [(json!(30), Some(30)), (json!(45), Some(45)), (json!(null), None)] {
        fixture.change(json!({ "spec": { "minReadySeconds": value } })).await;
        vmafx_testkit::wait::until(crate::resources::TIMEOUT, "the StatefulSet to follow", || async {
            let set = fixture.sets.get(SET).await.map_err(|error| error.to_string())?;
            let rendered =
                set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).filter(|seconds| *seconds > 0);
            if rendered == expected { Ok(()) } else { Err(format!("{rendered:?}")) }
        })
        .await
        .unwrap();
    }
    assert_eq!(fixture.sets.get(SET).await.unwrap().uid(), Some(uid), "it was not replaced");
}

#[tokio::test]
async fn a_pool_shows_no_jobs_and_the_time_of_its_probe_before_an_agent_has_reported() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    let node = fixture.until_reason("AgentHealthy", "AwaitingFirstHeartbeat").await;
    let status = node.status.unwrap();
    assert_eq!((status.assigned_jobs, status.last_heartbeat), (Some(0), None));
    assert!(status.last_probe_time.is_some());
    // As the controller does: it takes the field over.
    let patch = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
        "status": { "lastHeartbeat": node.metadata.creation_timestamp, "assignedJobs": 3 } });
    let controller = PatchParams::apply("vmafx-controller").force();
    fixture.nodes.patch_status("pool", &controller, &Patch::Apply(patch)).await.unwrap();
    fixture.change(json!({ "spec": { "replicas": 2 } })).await;
    let node = fixture
        .until("the change to be observed", |node| {
            node.status.as_ref().unwrap().observed_generation == node.metadata.generation
        })
        .await;
    assert_eq!(node.status.unwrap().assigned_jobs, Some(3));
}

#[tokio::test]
async fn scaling_goes_through_the_scale_subresource() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    fixture.tracked().await;
    let three = json!({ "spec": { "replicas": 3 } });
    fixture.nodes.patch_scale("pool", &PatchParams::default(), &Patch::Merge(three)).await.unwrap();
    fixture.wait_for_replicas(3).await;
    fixture
        .until("three workers", |node| node.status.as_ref().is_some_and(|status| status.replicas == Some(3)))
        .await;
    let scale = fixture.nodes.get_scale("pool").await.unwrap();
    let status = scale.status.unwrap();
    assert_eq!(
        (status.replicas, status.selector.as_deref()),
        (3, Some("vmafx.dev/workload=vmafx-node-pool"))
    );
}

#[tokio::test]
async fn workers_with_external_management_get_no_stateful_set() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu", "managementPolicy": "External" })).await;
    let node = fixture.until_reason("WorkloadSynced", "External").await;
    assert_eq!((tracked(&node), node.status.unwrap().healthy), (None, Some(true)));
    assert!(fixture.sets.get_opt(SET).await.unwrap().is_none());
    fixture.change(json!({ "spec": { "managementPolicy": "Managed" } })).await;
    fixture.tracked().await;
}

#[tokio::test]
async fn a_service_in_the_way_is_named_and_left_alone() {
    let fixture = NodeFixture::new().await;
    let services = fixture.all::<k8s_openapi::api::core::v1::Service>();
    let theirs = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": SET },
        "spec": { "ports": [{ "port": 80 }] } });
    let made =
        services.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    let node = fixture.until_reason("WorkloadSynced", "ForeignOwner").await;
    assert!(message(&node, "WorkloadSynced").contains("Service"), "{node:?}");
    assert_eq!(services.get(SET).await.unwrap().resource_version(), made.resource_version());
}
