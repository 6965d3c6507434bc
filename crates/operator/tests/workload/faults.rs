//! What we know is old, or the API server will not have it.

use http::Method;
use kube::ResourceExt as _;
use serde_json::json;
use vmafx_operator::error::{ApiError, Retry};
use vmafx_operator::workload::{Decision, Refusal};

use crate::driver::Driver;

#[tokio::test]
async fn an_apply_on_old_knowledge_does_not_bring_back_what_is_gone() {
    let mut driver = Driver::start("gone").await;
    driver.pass().await;
    driver.watch().await;
    let lost = driver.uid().await;
    driver.delete().await;
    driver.wanted.replicas = 2;
    driver.requests.taken();
    let synced = driver.blind_pass().await;
    assert_eq!(synced.decision, Decision::Recreate { lost }, "found out in the same pass");
    assert_eq!(driver.requests.taken(), [Method::PATCH, Method::GET, Method::PATCH]);
    assert_eq!(driver.tracked().await, driver.set().await.uid());
}

#[tokio::test]
async fn an_apply_on_old_knowledge_does_not_hit_a_namesake() {
    let mut driver = Driver::start("newcomer").await;
    driver.pass().await;
    driver.watch().await;
    driver.delete().await;
    let newcomer = driver.make(driver.wanted.manifest(driver.ns.name())).await;
    driver.wanted.replicas = 2;
    driver.requests.taken();
    let synced = driver.blind_pass().await;
    assert!(
        matches!(synced.decision, Decision::Replace { uid, .. } if Some(&uid) == newcomer.uid().as_ref())
    );
    let sent = driver.requests.taken();
    assert_eq!(sent.iter().filter(|method| **method == Method::PATCH).count(), 1, "{sent:?}");
    assert_eq!(sent.last(), Some(&Method::DELETE));
}

#[tokio::test]
async fn an_apply_on_old_knowledge_does_not_take_back_what_was_handed_over() {
    let mut driver = Driver::start("handed-over").await;
    driver.pass().await;
    driver.watch().await;
    driver.patch(json!({ "metadata": { "ownerReferences": null } })).await;
    driver.settled().await;
    driver.wanted.replicas = 2;
    assert_eq!(driver.blind_pass().await.decision, Decision::Refuse(Refusal::HandedOver));
    assert!(driver.set().await.owner_references().is_empty());
}

#[tokio::test]
async fn what_the_api_server_refuses_is_told_in_its_own_words() {
    let mut driver = Driver::start("invalid").await;
    driver.wanted.replicas = -1;
    driver.watch().await;
    let error = driver.sync().await.unwrap_err();
    assert_eq!(error.retry(), Retry::Slowly);
    let ApiError::Invalid { message, .. } = error else { panic!("{error:?}") };
    assert!(message.contains("spec.replicas"), "{message}");
}
