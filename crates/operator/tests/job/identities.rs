//! Who may be a worker, and for which VmafxNode, with the tokens of real ServiceAccounts.

use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tonic::Code;
use vmafx_api::VmafxNode;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::kube::TestNamespace;

use crate::agent::Agent;
use crate::resources;
use crate::tenants::{CLUSTER, Tenants};

async fn node(namespace: &TestNamespace, name: &str) -> VmafxNode {
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": name }, "spec": { "gpuVendor": "cpu" },
    });
    nodes(namespace).create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap()
}

fn nodes(namespace: &TestNamespace) -> Api<VmafxNode> {
    Api::namespaced(namespace.client(), namespace.name())
}

fn reference(node: &VmafxNode, uid: &str) -> wire::ResourceRef {
    wire::ResourceRef {
        cluster: CLUSTER.to_owned(),
        namespace: node.namespace().unwrap(),
        name: node.name_any(),
        uid: uid.to_owned(),
    }
}

/// Every Pod that names no account is `default`. Before, one of them could register, pull jobs and fail them.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_with_the_default_account_is_no_worker() {
    let tenants = Tenants::start().await;
    let namespace = &tenants.harness.namespace;
    tenants.create(namespace, "clip", json!({})).await;
    let client = tenants.client(namespace, "default").await;
    let refused = Agent::register_for(client.clone(), "intruder", None).await.err().unwrap();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
    let pull = wire::PullWorkRequest { node_id: uuid(), session_token: uuid(), ..Default::default() };
    assert_eq!(client.clone().pull_work(pull).await.unwrap_err().code(), Code::Unauthenticated);
    let drain = wire::ReportResultRequest { node_id: uuid(), job_id: uuid(), ..Default::default() };
    assert_eq!(client.clone().report_result(drain).await.unwrap_err().code(), Code::Unauthenticated);
    let read = wire::ListJobsRequest::default();
    assert_eq!(client.clone().list_jobs(read).await.unwrap_err().code(), Code::Unauthenticated);
}

fn uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_cannot_forge_the_status_of_another_node() {
    let tenants = Tenants::start().await;
    let (first, second) = (&tenants.harness.namespace, &tenants.neighbour);
    let (victim, own, other) =
        (node(second, "pool").await, node(first, "pool").await, node(first, "other").await);
    let uid = |node: &VmafxNode| node.uid().unwrap();
    let worker = tenants.client(first, "worker").await;

    let stolen = Agent::register_for(worker.clone(), "a", Some(reference(&victim, &uid(&victim))))
        .await
        .err()
        .unwrap();
    assert_eq!(stolen.code(), Code::PermissionDenied, "{stolen}");
    assert!(stolen.message().starts_with("resource.namespace: "), "{stolen}");
    let vague = Agent::register_for(worker.clone(), "b", Some(reference(&own, ""))).await.err().unwrap();
    assert_eq!(vague.code(), Code::InvalidArgument, "{vague}");
    assert!(vague.message().starts_with("resource.uid: "), "{vague}");

    // It registers for a resource that existed before, or never did. The resource of today shows nothing of it.
    let _outdated = Agent::register_for(worker.clone(), "c", Some(reference(&own, &uuid()))).await.unwrap();
    let _honest = Agent::register_for(worker, "d", Some(reference(&other, &uid(&other)))).await.unwrap();
    let has_beat =
        |node: &VmafxNode| node.status.as_ref().is_some_and(|status| status.last_heartbeat.is_some());
    resources::until(&nodes(first), "other", "its own agent to be shown", has_beat).await;
    for untouched in [nodes(first).get("pool").await.unwrap(), nodes(second).get("pool").await.unwrap()] {
        assert!(!has_beat(&untouched), "{untouched:?}");
    }
}
