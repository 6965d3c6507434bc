//! Stale caches, and writes that the API server refuses.

use http::Method;
use kube::ResourceExt as _;
use serde_json::json;
use vmafx_api::conditions::Reason;
use vmafx_operator::error::Retry;
use vmafx_operator::workload::{WorkloadDecision, WorkloadRefusal};

use crate::driver::Driver;

#[tokio::test]
async fn an_apply_from_a_stale_cache_does_not_bring_back_what_is_gone() {
    let mut driver = Driver::start("gone").await;
    driver.pass().await;
    driver.watch().await;
    let lost = driver.uid().await;
    driver.delete().await;
    driver.desired.replicas = 2;
    driver.requests.taken();
    let pass = driver.stale_pass().await;
    assert_eq!(pass.decision(), WorkloadDecision::Recreate { lost }, "found out in the same pass");
    assert_eq!(driver.requests.taken(), [Method::PATCH, Method::GET, Method::PATCH]);
    assert_eq!(driver.tracked().await, driver.set().await.uid());
}

#[tokio::test]
async fn an_apply_from_a_stale_cache_does_not_hit_a_namesake() {
    let mut driver = Driver::start("newcomer").await;
    driver.pass().await;
    driver.watch().await;
    driver.delete().await;
    let newcomer = driver.make(driver.desired.manifest(driver.ns.name())).await;
    driver.desired.replicas = 2;
    driver.requests.taken();
    let pass = driver.stale_pass().await;
    assert!(
        matches!(pass.decision(), WorkloadDecision::Replace { uid, .. } if Some(&uid) == newcomer.uid().as_ref())
    );
    let sent = driver.requests.taken();
    assert_eq!(sent.iter().filter(|method| **method == Method::PATCH).count(), 1, "{sent:?}");
    assert_eq!(sent.last(), Some(&Method::DELETE));
}

#[tokio::test]
async fn an_apply_from_a_stale_cache_does_not_take_back_what_was_handed_over() {
    let mut driver = Driver::start("handed-over").await;
    driver.pass().await;
    driver.watch().await;
    driver.patch(json!({ "metadata": { "ownerReferences": null } })).await;
    driver.settled().await;
    driver.desired.replicas = 2;
    assert_eq!(driver.stale_pass().await.decision(), WorkloadDecision::Refuse(WorkloadRefusal::HandedOver));
    assert!(driver.set().await.owner_references().is_empty());
}

#[tokio::test]
async fn what_the_api_server_refuses_is_reported_in_its_own_words() {
    let mut driver = Driver::start("invalid").await;
    driver.desired.replicas = -1;
    driver.watch().await;
    let error = driver.sync().await.unwrap_err();
    assert_eq!((error.reason, error.retry), (Reason::Invalid, Retry::Slowly));
    assert!(error.source.to_string().contains("spec.replicas"), "{error:?}");
}
