//! Impostors, immutable fields that differ, and StatefulSets that are being deleted.

use http::Method;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use vmafx_api::conditions::Reason;
use vmafx_operator::workload::{MAX_REPLACEMENTS, ReplaceReason, WorkloadDecision, WorkloadRefusal};

use crate::driver::Driver;
use crate::objects::NAME;

/// The StatefulSet as a backup would save it and apply it again.
async fn dump(driver: &Driver) -> Value {
    let mut dump = serde_json::to_value(driver.set().await).unwrap();
    let metadata = dump["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
        metadata.remove(field);
    }
    dump
}

/// Replaces our StatefulSet by the impostor and checks that the operator replaces that.
async fn replaced(driver: &mut Driver, impostor: Value) {
    let ours = driver.uid().await;
    driver.delete().await;
    let impostor = driver.make(impostor).await.uid().unwrap();
    let pass = driver.pass().await;
    assert_eq!(
        pass.decision(),
        WorkloadDecision::Replace { uid: impostor.clone(), reason: ReplaceReason::Impostor }
    );
    assert_eq!((pass.status.synced.reason, pass.status.tracked), (Reason::ReplacingImpostor, None));
    let note = pass.status.event.unwrap().note;
    assert!(note.contains(&impostor) && note.contains(&ours), "{note}");
    assert_eq!(driver.tracked().await, None, "cleared by the same pass");
    driver.gone().await;
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Create);
    let made = driver.uid().await;
    assert!(made != ours && made != impostor);
    assert_eq!(driver.tracked().await.as_ref(), Some(&made));
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid: made });
}

#[tokio::test]
async fn impostor_replaced_if_it_is_a_namesake_without_owner() {
    let mut driver = Driver::start("namesake").await;
    driver.pass().await;
    let impostor = driver.desired.manifest(driver.ns.name());
    replaced(&mut driver, impostor).await;
}

#[tokio::test]
async fn impostor_replaced_if_it_is_a_dump_of_ours() {
    let mut driver = Driver::start("dump").await;
    driver.pass().await;
    // Our second StatefulSet has the successor annotation, and so does the dump.
    driver.delete().await;
    driver.pass().await;
    let impostor = dump(&driver).await;
    replaced(&mut driver, impostor).await;
}

#[tokio::test]
async fn impostor_clear_prevents_churn() {
    let mut driver = Driver::start("churn").await;
    driver.pass().await;
    let impostor = dump(&driver).await;
    driver.delete().await;
    driver.make(impostor).await;
    driver.pass().await;
    driver.gone().await;
    driver.requests.taken();
    driver.pass().await;
    let uid = driver.uid().await;
    for _ in 0..5 {
        assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid: uid.clone() });
    }
    assert_eq!(driver.requests.taken(), [Method::GET, Method::PATCH]);
}

#[tokio::test]
async fn a_clear_that_is_lost_leads_to_no_churn_either() {
    let mut driver = Driver::start("clear-lost").await;
    driver.pass().await;
    let impostor = dump(&driver).await;
    driver.delete().await;
    driver.make(impostor).await;
    driver.pass_without_status().await;
    driver.gone().await;
    assert!(matches!(driver.pass_without_status().await.decision(), WorkloadDecision::Recreate { .. }));
    let uid = driver.uid().await;
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Retrack { uid: uid.clone() });
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid });
}

#[tokio::test]
async fn an_impostor_that_comes_again_and_again_is_left_at_last() {
    let mut driver = Driver::start("loop").await;
    driver.pass().await;
    let manifest = dump(&driver).await;
    for _ in 0..MAX_REPLACEMENTS {
        driver.delete().await;
        driver.make(manifest.clone()).await;
        assert!(matches!(driver.pass().await.decision(), WorkloadDecision::Replace { .. }));
        driver.gone().await;
        driver.pass().await;
    }
    driver.delete().await;
    let last = driver.make(manifest).await;
    let pass = driver.pass().await;
    assert_eq!(pass.decision(), WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop));
    assert_eq!(driver.uid().await, last.uid().unwrap());
    assert!(
        pass.requeue_after().as_secs() > 60,
        "when the oldest replacement no longer counts: {:?}",
        pass.requeue_after()
    );
}

#[tokio::test]
async fn terminating_is_waited_for() {
    let mut driver = Driver::start("terminating").await;
    driver.pass().await;
    driver.patch(json!({ "metadata": { "finalizers": ["example.com/hold"] } })).await;
    driver.sets().delete(NAME, &DeleteParams::background()).await.unwrap();
    let old = driver.uid().await;
    driver.requests.taken();
    driver.desired.replicas = 3;
    for _ in 0..3 {
        let pass = driver.pass().await;
        assert_eq!(pass.decision(), WorkloadDecision::Wait { uid: old.clone() });
        assert_eq!(pass.status.synced.reason, Reason::Terminating);
    }
    assert_eq!(driver.requests.taken(), [Method::GET, Method::GET, Method::GET]);
    assert_eq!(driver.tracked().await.as_ref(), Some(&old));
    driver.patch(json!({ "metadata": { "finalizers": null } })).await;
    driver.gone().await;
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Recreate { lost: old });
}

#[tokio::test]
async fn immutable_drift_is_replaced() {
    let mut driver = Driver::start("drift").await;
    driver.pass().await;
    let old = driver.uid().await;
    driver.desired.policy = "OrderedReady";
    let pass = driver.pass().await;
    assert_eq!(
        pass.decision(),
        WorkloadDecision::Replace { uid: old, reason: ReplaceReason::ImmutableDrift }
    );
    assert_eq!(pass.status.synced.reason, Reason::ReplacingImmutable);
    assert!(pass.status.synced.message.contains("podManagementPolicy"), "{}", pass.status.synced.message);
    driver.gone().await;
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Create);
    let set = driver.set().await;
    assert_eq!(set.spec.as_ref().unwrap().pod_management_policy.as_deref(), Some("OrderedReady"));
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid: set.uid().unwrap() });
}
