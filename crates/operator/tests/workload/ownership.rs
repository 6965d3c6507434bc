//! StatefulSets that are adopted, refused, handed over and adopted again.

use http::Method;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::conditions::Reason;
use vmafx_operator::FIELD_MANAGER;
use vmafx_operator::workload::{ADOPT, WorkloadDecision, WorkloadRefusal};

use crate::driver::Driver;
use crate::objects::NAME;

/// A controller that really exists, or garbage collection would remove what it owns.
async fn another_controller(driver: &Driver) -> Value {
    let maps = Api::<ConfigMap>::namespaced(driver.ns.client(), driver.ns.name());
    let map = serde_json::from_value(json!({ "metadata": { "name": "another" } })).unwrap();
    let map = maps.create(&PostParams::default(), &map).await.unwrap();
    json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "another", "uid": map.uid(), "controller": true }])
}

/// Whether the operator is no field manager of the StatefulSet.
fn untouched(set: &StatefulSet) -> bool {
    set.managed_fields().iter().all(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER))
}

#[tokio::test]
async fn an_unowned_compatible_namesake_is_adopted() {
    let mut driver = Driver::start("adopted").await;
    let mut theirs = driver.desired.manifest(driver.ns.name());
    theirs["spec"]["replicas"] = json!(0);
    let uid = driver.make(theirs).await.uid().unwrap();
    let pass = driver.pass().await;
    assert_eq!(pass.decision(), WorkloadDecision::Adopt { uid: uid.clone() });
    assert_eq!(pass.status.event.unwrap().reason, Reason::Adopted);
    let set = driver.set().await;
    assert_eq!(set.uid().as_ref(), Some(&uid));
    assert_eq!(set.owner_references().len(), 1);
    assert_eq!(set.spec.unwrap().replicas, Some(1));
    assert_eq!(driver.tracked().await.as_ref(), Some(&uid));
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid });
}

#[tokio::test]
async fn an_unowned_incompatible_namesake_is_refused() {
    let mut driver = Driver::start("incompatible").await;
    let mut theirs = driver.desired.manifest(driver.ns.name());
    theirs["spec"]["selector"]["matchLabels"] = json!({ "app": "theirs" });
    theirs["spec"]["template"]["metadata"]["labels"] = json!({ "app": "theirs" });
    driver.make(theirs).await;
    let pass = driver.pass().await;
    assert_eq!(pass.decision(), WorkloadDecision::Refuse(WorkloadRefusal::Incompatible));
    assert!(pass.status.synced.message.contains("selector"), "{}", pass.status.synced.message);
    assert_eq!(driver.requests.taken(), [Method::GET]);
    assert!(untouched(&driver.set().await));
    assert_eq!(driver.tracked().await, None);
}

#[tokio::test]
async fn what_another_controls_is_refused_and_untouched() {
    let mut driver = Driver::start("foreign").await;
    let mut theirs = driver.desired.manifest(driver.ns.name());
    theirs["metadata"]["ownerReferences"] = another_controller(&driver).await;
    let made = driver.make(theirs).await;
    for _ in 0..3 {
        let pass = driver.pass().await;
        assert_eq!(pass.decision(), WorkloadDecision::Refuse(WorkloadRefusal::ForeignOwner));
        assert_eq!(pass.status.synced.reason, Reason::ForeignOwner);
        assert!(pass.status.synced.message.contains("ConfigMap another"), "{}", pass.status.synced.message);
    }
    assert_eq!(driver.requests.taken(), [Method::GET, Method::GET, Method::GET]);
    let set = driver.set().await;
    assert_eq!((set.uid(), set.metadata.generation), (made.uid(), made.metadata.generation));
    assert!(untouched(&set));
}

#[tokio::test]
async fn a_stateful_set_of_another_controller_that_replaced_ours_is_refused_too() {
    let mut driver = Driver::start("foreign-tracked").await;
    driver.pass().await;
    let ours = driver.uid().await;
    driver.delete().await;
    let mut theirs = driver.desired.manifest(driver.ns.name());
    theirs["metadata"]["ownerReferences"] = another_controller(&driver).await;
    let made = driver.make(theirs).await;
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Refuse(WorkloadRefusal::ForeignOwner));
    assert_eq!(driver.tracked().await, Some(ours), "the tracked one is not forgotten");
    let set = driver.set().await;
    assert_eq!((set.uid(), set.metadata.generation), (made.uid(), made.metadata.generation));
    assert!(untouched(&set));
}

#[tokio::test]
async fn a_stripped_owner_reference_hands_it_over_until_adoption_is_requested() {
    let mut driver = Driver::start("stripped").await;
    driver.pass().await;
    let uid = driver.uid().await;
    driver.patch(json!({ "metadata": { "ownerReferences": null }, "spec": { "replicas": 2 } })).await;
    driver.requests.taken();
    for _ in 0..2 {
        let pass = driver.pass().await;
        assert_eq!(pass.decision(), WorkloadDecision::Refuse(WorkloadRefusal::HandedOver));
        assert_eq!(pass.status.event.unwrap().reason, Reason::HandedOver);
    }
    assert_eq!(driver.requests.taken(), [Method::GET, Method::GET]);
    assert_eq!(driver.set().await.spec.unwrap().replicas, Some(2));

    let annotate = json!({ "metadata": { "annotations": { ADOPT: "true" } } });
    driver.nodes().patch(NAME, &PatchParams::default(), &Patch::Merge(annotate)).await.unwrap();
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Adopt { uid: uid.clone() });
    let set = driver.set().await;
    assert_eq!(set.owner_references().len(), 1);
    assert_eq!((set.uid().as_ref(), set.spec.unwrap().replicas), (Some(&uid), Some(1)));
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid });
}

#[tokio::test]
async fn the_workload_of_a_deleted_resource_is_left() {
    let mut driver = Driver::start("leaving").await;
    driver.pass().await;
    let held = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    driver.nodes().patch(NAME, &PatchParams::default(), &Patch::Merge(held)).await.unwrap();
    driver.nodes().delete(NAME, &DeleteParams::default()).await.unwrap();
    driver.delete().await;
    driver.requests.taken();
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Leave);
    assert_eq!(driver.requests.taken(), Vec::<Method>::new());
    assert_eq!(driver.sets().get_opt(NAME).await.unwrap(), None, "the StatefulSet must not be created again");
}
