//! Watches that end, connections that are refused, and events that come late.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use vmafx_testkit::wait;

use crate::SOON;
use crate::world::{Wanted, World, deletions};

const OTHER: &str = "registry.test/vmafx-node:2";

#[tokio::test]
async fn what_happens_while_watches_are_cut_is_not_missed() {
    let world = World::set(&[]).await;
    world.create("a").await;
    world.settled("a", Wanted::default()).await;
    let uid = world.uid_of("a").await;
    world.proxy.close_watches();
    world.change("a", json!({"paused": true})).await;
    world.proxy.close_watches();
    world.settled("a", Wanted { replicas: 0, paused: true, ..Wanted::default() }).await;

    let errors = async || world.operator.metric("operator_watch_errors_total", "").await.unwrap();
    let before = errors().await;
    let refusing = world.proxy.refuse_connections();
    world.change("a", json!({"paused": false, "image": OTHER})).await;
    wait::until(SOON, "the operator to see it", async || errors().await > before).await.unwrap();
    drop(refusing);
    world.settled("a", Wanted { image: OTHER, ..Wanted::default() }).await;
    assert_eq!(world.uid_of("a").await, uid);
    assert!(world.written_for("a", 0).len() < 40);
}

/// The operator believes that its StatefulSet is there, when another has taken its place, and is given work on it.
#[tokio::test]
async fn an_operator_that_has_old_news_does_not_touch_what_is_another_s() {
    let world = World::set(&[]).await;
    world.create("a").await;
    world.settled("a", Wanted::default()).await;
    let ours = world.set_of("a").await.unwrap();
    let held = world.proxy.hold_events("statefulsets");
    let mark = world.proxy.request_count();
    let theirs = replace_with_anothers(&world, &ours).await;

    world.change("a", json!({"image": OTHER})).await;
    let refused = async || {
        let seen = world.look().await?;
        let status = seen.nodes["a"].status.clone().unwrap_or_default();
        let synced =
            status.conditions.iter().find(|one| one.type_ == "WorkloadSynced").unwrap().reason.clone();
        if synced == "ForeignOwner" { Ok(()) } else { Err(synced) }
    };
    wait::until(SOON, "the operator to refuse it", refused).await.unwrap();
    drop(held);
    let now = world.set_of("a").await.unwrap();
    assert_eq!((now.uid(), now.metadata.generation), (theirs.uid(), theirs.metadata.generation));
    assert_eq!(
        now.managed_fields().iter().filter(|one| one.manager.as_deref() == Some("vmafx-operator")).count(),
        0
    );
    assert_eq!(deletions(&world.written_for("a", mark)), 0);
}

/// Late news of the old one must not cost the new one its life.
#[tokio::test]
async fn late_events_of_a_lost_set_do_not_harm_its_successor() {
    let world = World::set(&[]).await;
    world.create("a").await;
    world.settled("a", Wanted::default()).await;
    let old = world.uid_of("a").await;
    let held = world.proxy.hold_events("statefulsets");
    let mark = world.proxy.request_count();
    world.sets().delete("vmafx-node-a", &DeleteParams::background()).await.unwrap();
    world.change("a", json!({"image": OTHER})).await;
    let another = async || world.uid_of("a").await.filter(|uid| Some(uid) != old.as_ref());
    let new = wait::until(SOON, "another StatefulSet", another).await.unwrap();
    drop(held);
    world.settled("a", Wanted { image: OTHER, ..Wanted::default() }).await;
    assert_eq!(world.uid_of("a").await, Some(new));
    assert_eq!(deletions(&world.written_for("a", mark)), 0);
}

async fn replace_with_anothers(world: &World, ours: &StatefulSet) -> StatefulSet {
    let maps = Api::<ConfigMap>::namespaced(world.client(), world.namespace.name());
    let metadata = ObjectMeta { name: Some("somebody".to_owned()), ..ObjectMeta::default() };
    let owner =
        maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await.unwrap();
    world.sets().delete(&ours.name_any(), &DeleteParams::background()).await.unwrap();
    let set = serde_json::from_value::<StatefulSet>(json!({
        "metadata": {"name": ours.name_any(), "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "somebody", "uid": owner.uid(), "controller": true,
        }]},
        "spec": ours.spec,
    }));
    world.sets().create(&PostParams::default(), &set.unwrap()).await.unwrap()
}
