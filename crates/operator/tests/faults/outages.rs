//! An API server that is killed, an etcd that stalls, and CRDs that are installed late. Each test has a control plane of
//! its own.

use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use vmafx_api::VmafxNode;
use vmafx_api::crd::definition;
use vmafx_testkit::kube::proxy::RbacVerb;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestCluster, install_crds, without_schema};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{DesiredNode, FaultFixture, account};

const PAUSED: DesiredNode = DesiredNode { replicas: 0, paused: true, image: "registry.test/vmafx-node:1" };

/// The stall is the fault itself, not a wait for something.
const STALL: Duration = Duration::from_secs(5);

async fn plane() -> ControlPlane {
    let options = ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() };
    ControlPlane::start(options).await.unwrap()
}

#[tokio::test]
async fn the_operator_recovers_from_a_killed_api_server_and_a_stalled_etcd() {
    let mut plane = plane().await;
    let cluster: TestCluster = (*plane).clone();
    install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
    let mut fixture = FaultFixture::on(&cluster, account(&cluster).await, &[]).await;
    fixture.operator.ready().await;
    fixture.create("a").await;
    fixture.settled("a", DesiredNode::default()).await;
    let uid = fixture.uid_of("a").await;

    plane.kill_api_server().unwrap();
    let failing =
        async || fixture.operator.metric("operator_watch_errors_total", "").await.is_ok_and(|n| n >= 1.0);
    wait::until(TIMEOUT, "a failed watch", failing).await.unwrap();
    plane.restart_api_server().await.unwrap();
    fixture.create("b").await;
    fixture.change("a", json!({"paused": true})).await;
    fixture.settled("b", DesiredNode::default()).await;
    fixture.settled("a", PAUSED).await;

    plane.freeze_etcd().unwrap();
    let stall = async {
        tokio::time::sleep(STALL).await;
        plane.resume_etcd().unwrap();
    };
    tokio::join!(fixture.change("b", json!({"paused": true})), stall);
    fixture.settled("b", PAUSED).await;
    fixture.change("a", json!({"paused": false})).await;
    fixture.settled("a", DesiredNode::default()).await;

    assert_eq!(fixture.uid_of("a").await, uid);
    let writes = fixture.proxy.writes();
    assert!(writes.iter().all(|record| record.request.verb != RbacVerb::Delete), "{writes:#?}");
    assert!(writes.len() < 150, "{} writes", writes.len());
    assert!(!fixture.operator.has_ended());
}

#[tokio::test]
async fn late_crds_and_an_undecodable_object_do_not_stop_the_operator() {
    let plane = plane().await;
    let client = plane.client().unwrap();
    let mut fixture = FaultFixture::on(&plane, account(&plane).await, &[]).await;
    let missing = wait::until(TIMEOUT, "the missing CRD in the readiness", async || {
        match fixture.operator.readiness().await {
            Ok((503, body)) if body.contains("vmafxnodes: VmafxNode is not installed") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    missing.await.unwrap();

    // A CRD without schema accepts an object that the real one refuses.
    install_crds(&client, &[without_schema(definition::<VmafxNode>())]).await.unwrap();
    let kind = ApiResource::erase::<VmafxNode>(&());
    let objects = Api::<DynamicObject>::namespaced_with(client.clone(), fixture.namespace.name(), &kind);
    let undecodable = DynamicObject::new("strange", &kind).data(json!({"spec": {"gpuVendor": ["quantum"]}}));
    objects.create(&PostParams::default(), &undecodable).await.unwrap();
    install_crds(&client, &vmafx_api::crd::all()).await.unwrap();

    fixture.operator.ready().await;
    fixture.create("sound").await;
    fixture.settled("sound", DesiredNode::default()).await;
    let counted = fixture.operator.metric("operator_undecodable_objects_total", "VmafxNode").await;
    assert!(counted.clone().is_ok_and(|count| count >= 1.0), "{counted:?}");
    let corrected = Patch::Merge(json!({"spec": {"gpuVendor": "cpu"}}));
    objects.patch("strange", &PatchParams::default(), &corrected).await.unwrap();
    fixture.settled("strange", DesiredNode::default()).await;
    assert!(!fixture.operator.has_ended());
}
