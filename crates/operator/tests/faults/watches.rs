//! Watches that are closed, connections that are refused, and events that arrive late.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{DesiredNode, FaultFixture, deletions};

const OTHER: &str = "registry.test/vmafx-node:2";

#[tokio::test]
async fn changes_while_watches_are_closed_are_not_missed() {
    let fixture = FaultFixture::new(&[]).await;
    fixture.create("a").await;
    fixture.settled("a", DesiredNode::default()).await;
    let uid = fixture.uid_of("a").await;
    fixture.proxy.close_watches();
    fixture.change("a", json!({"paused": true})).await;
    fixture.proxy.close_watches();
    fixture.settled("a", DesiredNode { replicas: 0, paused: true, ..DesiredNode::default() }).await;

    let errors = async || fixture.operator.metric("operator_watch_errors_total", "").await.unwrap();
    let before = errors().await;
    let refusing = fixture.proxy.refuse_connections();
    fixture.change("a", json!({"paused": false, "image": OTHER})).await;
    wait::until(TIMEOUT, "a failed watch", async || errors().await > before).await.unwrap();
    drop(refusing);
    fixture.settled("a", DesiredNode { image: OTHER, ..DesiredNode::default() }).await;
    assert_eq!(fixture.uid_of("a").await, uid);
    assert!(fixture.written_for("a", 0).len() < 40);
}

/// The operator's cache still has its own StatefulSet when another owner's has replaced it, and the spec changes.
#[tokio::test]
async fn an_operator_with_a_stale_cache_does_not_touch_another_owners_object() {
    let fixture = FaultFixture::new(&[]).await;
    fixture.create("a").await;
    fixture.settled("a", DesiredNode::default()).await;
    let ours = fixture.set_of("a").await.unwrap();
    let held = fixture.proxy.hold_events("statefulsets");
    let mark = fixture.proxy.request_count();
    let theirs = replace_with_anothers(&fixture, &ours).await;

    fixture.change("a", json!({"image": OTHER})).await;
    let refused = async || {
        let snapshot = fixture.snapshot().await?;
        let status = snapshot.nodes["a"].status.clone().unwrap_or_default();
        let synced =
            status.conditions.iter().find(|one| one.type_ == "WorkloadSynced").unwrap().reason.clone();
        if synced == "ForeignOwner" { Ok(()) } else { Err(synced) }
    };
    wait::until(TIMEOUT, "the operator to refuse it", refused).await.unwrap();
    drop(held);
    let now = fixture.set_of("a").await.unwrap();
    assert_eq!((now.uid(), now.metadata.generation), (theirs.uid(), theirs.metadata.generation));
    assert_eq!(
        now.managed_fields().iter().filter(|one| one.manager.as_deref() == Some("vmafx-operator")).count(),
        0
    );
    assert_eq!(deletions(&fixture.written_for("a", mark)), 0);
}

/// Late events of the deleted StatefulSet must not make the operator delete its successor.
#[tokio::test]
async fn late_events_of_a_lost_set_do_not_harm_its_successor() {
    let fixture = FaultFixture::new(&[]).await;
    fixture.create("a").await;
    fixture.settled("a", DesiredNode::default()).await;
    let old = fixture.uid_of("a").await;
    let held = fixture.proxy.hold_events("statefulsets");
    let mark = fixture.proxy.request_count();
    fixture.sets().delete("vmafx-node-a", &DeleteParams::background()).await.unwrap();
    fixture.change("a", json!({"image": OTHER})).await;
    let another = async || fixture.uid_of("a").await.filter(|uid| Some(uid) != old.as_ref());
    let new = wait::until(TIMEOUT, "another StatefulSet", another).await.unwrap();
    drop(held);
    fixture.settled("a", DesiredNode { image: OTHER, ..DesiredNode::default() }).await;
    assert_eq!(fixture.uid_of("a").await, Some(new));
    assert_eq!(deletions(&fixture.written_for("a", mark)), 0);
}

async fn replace_with_anothers(fixture: &FaultFixture, ours: &StatefulSet) -> StatefulSet {
    let maps = Api::<ConfigMap>::namespaced(fixture.client(), fixture.namespace.name());
    let metadata = ObjectMeta { name: Some("somebody".to_owned()), ..ObjectMeta::default() };
    let owner =
        maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await.unwrap();
    fixture.sets().delete(&ours.name_any(), &DeleteParams::background()).await.unwrap();
    let set = serde_json::from_value::<StatefulSet>(json!({
        "metadata": {"name": ours.name_any(), "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "somebody", "uid": owner.uid(), "controller": true,
        }]},
        "spec": ours.spec,
    }));
    fixture.sets().create(&PostParams::default(), &set.unwrap()).await.unwrap()
}
