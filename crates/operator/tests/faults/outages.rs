//! Servers that die, stall, or do not know us yet. Each test has a control plane of its own.

use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use vmafx_api::VmafxNode;
use vmafx_api::crd::definition;
use vmafx_testkit::kube::proxy::RbacVerb;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestCluster, install_crds, without_schema};
use vmafx_testkit::wait;

use crate::SOON;
use crate::world::{Wanted, World, account};

const PAUSED: Wanted = Wanted { replicas: 0, paused: true, image: "registry.test/vmafx-node:1" };

/// The fault itself, not a wait for something.
const STALL: Duration = Duration::from_secs(5);

async fn plane() -> ControlPlane {
    let options = ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() };
    ControlPlane::start(options).await.unwrap()
}

#[tokio::test]
async fn servers_that_die_and_stall_are_waited_for() {
    let mut plane = plane().await;
    let cluster: TestCluster = (*plane).clone();
    install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
    let mut world = World::on(&cluster, account(&cluster).await, &[]).await;
    world.operator.ready().await;
    world.create("a").await;
    world.settled("a", Wanted::default()).await;
    let uid = world.uid_of("a").await;

    plane.kill_api_server().unwrap();
    let failing =
        async || world.operator.metric("operator_watch_errors_total", "").await.is_ok_and(|n| n >= 1.0);
    wait::until(SOON, "the operator to see it", failing).await.unwrap();
    plane.restart_api_server().await.unwrap();
    world.create("b").await;
    world.change("a", json!({"paused": true})).await;
    world.settled("b", Wanted::default()).await;
    world.settled("a", PAUSED).await;

    plane.freeze_etcd().unwrap();
    let stall = async {
        tokio::time::sleep(STALL).await;
        plane.resume_etcd().unwrap();
    };
    tokio::join!(world.change("b", json!({"paused": true})), stall);
    world.settled("b", PAUSED).await;
    world.change("a", json!({"paused": false})).await;
    world.settled("a", Wanted::default()).await;

    assert_eq!(world.uid_of("a").await, uid);
    let writes = world.proxy.writes();
    assert!(writes.iter().all(|record| record.request.verb != RbacVerb::Delete), "{writes:#?}");
    assert!(writes.len() < 150, "{} writes", writes.len());
    assert!(!world.operator.has_ended());
}

#[tokio::test]
async fn definitions_that_come_late_and_an_object_that_makes_no_sense_stop_nothing() {
    let plane = plane().await;
    let client = plane.client().unwrap();
    let mut world = World::on(&plane, account(&plane).await, &[]).await;
    let said = wait::until(SOON, "the operator to say what is missing", async || {
        match world.operator.readiness().await {
            Ok((503, said)) if said.contains("vmafxnodes: VmafxNode is not installed") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    said.await.unwrap();

    // A definition that takes everything lets in what the real one refuses.
    install_crds(&client, &[without_schema(definition::<VmafxNode>())]).await.unwrap();
    let kind = ApiResource::erase::<VmafxNode>(&());
    let objects = Api::<DynamicObject>::namespaced_with(client.clone(), world.namespace.name(), &kind);
    let strange = DynamicObject::new("strange", &kind).data(json!({"spec": {"gpuVendor": ["quantum"]}}));
    objects.create(&PostParams::default(), &strange).await.unwrap();
    install_crds(&client, &vmafx_api::crd::all()).await.unwrap();

    world.operator.ready().await;
    world.create("sound").await;
    world.settled("sound", Wanted::default()).await;
    let unfit = world.operator.metric("operator_undecodable_objects_total", "VmafxNode").await;
    assert!(unfit.clone().is_ok_and(|unfit| unfit >= 1.0), "{unfit:?}");
    let sense = Patch::Merge(json!({"spec": {"gpuVendor": "cpu"}}));
    objects.patch("strange", &PatchParams::default(), &sense).await.unwrap();
    world.settled("strange", Wanted::default()).await;
    assert!(!world.operator.has_ended());
}
