//! The operator's own StatefulSet: created, tracked, scaled, recreated, retracked, and otherwise not written.

use http::Method;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;
use vmafx_api::conditions::Reason;
use vmafx_operator::FIELD_MANAGER;
use vmafx_operator::workload::{SUCCEEDS, WorkloadDecision};
use vmafx_testkit::wait;

use crate::driver::{Driver, TIMEOUT};
use crate::objects::NAME;

/// Waits until the StatefulSet controller has created this many Pods, and returns their UIDs.
async fn pods(driver: &Driver, count: usize) -> Vec<String> {
    let pods = Api::<Pod>::namespaced(driver.ns.client(), driver.ns.name());
    let what = format!("{count} Pods");
    let uids = wait::until(TIMEOUT, &what, || async {
        let (set, pods) = (driver.set().await, pods.list(&ListParams::default()).await.unwrap());
        let status = set.status.unwrap_or_default();
        let live: Vec<_> = pods.iter().filter(|pod| pod.meta().deletion_timestamp.is_none()).collect();
        let settled = usize::try_from(status.replicas) == Ok(count)
            && live.len() == count
            && status.observed_generation == set.metadata.generation;
        settled.then(|| live.iter().map(|pod| pod.uid().unwrap()).collect())
    });
    uids.await.unwrap()
}

#[tokio::test]
async fn tracked_on_status() {
    let mut driver = Driver::start("tracked").await;
    let pass = driver.pass().await;
    assert_eq!(pass.decision(), WorkloadDecision::Create);
    assert_eq!(pass.status.event.unwrap().reason, Reason::Created);
    let set = driver.set().await;
    assert_eq!(driver.tracked().await, set.uid());
    let owners = set.owner_references();
    assert_eq!(owners.len(), 1);
    assert_eq!((owners[0].kind.as_str(), owners[0].name.as_str()), ("VmafxNode", NAME));
    assert_eq!((owners[0].controller, owners[0].block_owner_deletion), (Some(true), Some(true)));
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid: set.uid().unwrap() });
    assert_eq!(driver.requests.taken(), [Method::GET, Method::PATCH], "both of the first pass");
}

#[tokio::test]
async fn paused_scales_to_zero_and_back() {
    let mut driver = Driver::start("paused").await;
    driver.pass().await;
    let before = pods(&driver, 1).await;
    for replicas in [0, 1] {
        driver.desired.replicas = replicas;
        let pass = driver.pass().await;
        assert_eq!(pass.live.unwrap().replicas, replicas);
        pods(&driver, usize::try_from(replicas).unwrap()).await;
    }
    assert_ne!(pods(&driver, 1).await, before);
    assert_eq!(driver.tracked().await.unwrap(), driver.uid().await);
}

#[tokio::test]
async fn recreated_after_delete() {
    let mut driver = Driver::start("recreated").await;
    driver.pass().await;
    let lost = driver.uid().await;
    driver.delete().await;
    let pass = driver.pass().await;
    assert_eq!(pass.decision(), WorkloadDecision::Recreate { lost: lost.clone() });
    let made = driver.set().await;
    assert_ne!(made.uid(), Some(lost.clone()));
    assert_eq!(made.annotations()[SUCCEEDS], lost);
    assert_eq!(driver.tracked().await, made.uid());
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid: made.uid().unwrap() });
}

#[tokio::test]
async fn a_lost_status_write_is_retracked_without_new_pods() {
    let mut driver = Driver::start("lost-status").await;
    driver.pass().await;
    let first = driver.uid().await;
    pods(&driver, 1).await;
    driver.delete().await;
    driver.pass_without_status().await;
    assert_eq!(driver.tracked().await, Some(first), "the status write was lost");
    let (second, running) = (driver.uid().await, pods(&driver, 1).await);
    driver.restart();
    let pass = driver.pass().await;
    assert_eq!(pass.decision(), WorkloadDecision::Retrack { uid: second.clone() });
    assert_eq!(driver.tracked().await, Some(second.clone()));
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Keep { uid: second });
    assert_eq!(pods(&driver, 1).await, running);
}

#[tokio::test]
async fn a_first_status_write_that_is_lost_is_retracked() {
    let mut driver = Driver::start("first-lost").await;
    driver.pass_without_status().await;
    let uid = driver.uid().await;
    assert_eq!(driver.pass().await.decision(), WorkloadDecision::Retrack { uid: uid.clone() });
    assert_eq!(driver.tracked().await, Some(uid));
}

#[tokio::test]
async fn nothing_is_written_at_rest() {
    let mut driver = Driver::start("rest").await;
    driver.pass().await;
    pods(&driver, 1).await;
    driver.pass().await;
    driver.requests.taken();
    let before = driver.set().await;
    let node = driver.nodes().get(NAME).await.unwrap();
    for _ in 0..20 {
        let pass = driver.pass().await;
        assert!(matches!(pass.decision(), WorkloadDecision::Keep { .. }));
        assert_eq!(pass.status.event, None);
    }
    assert_eq!(driver.requests.taken(), Vec::<Method>::new());
    driver.restart();
    driver.pass().await;
    assert_eq!(
        driver.requests.taken(),
        [Method::PATCH],
        "once, because the record of the last apply is lost"
    );
    let after = driver.set().await;
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version);
    assert_eq!(after.metadata.generation, before.metadata.generation);
    assert_eq!(
        driver.nodes().get(NAME).await.unwrap().metadata.resource_version,
        node.metadata.resource_version
    );
}

#[tokio::test]
async fn changes_by_another_client_are_reverted() {
    let mut driver = Driver::start("changed").await;
    driver.pass().await;
    driver.requests.taken();
    driver.patch(json!({ "spec": { "replicas": 4 } })).await;
    driver.pass().await;
    assert_eq!(driver.requests.taken().last(), Some(&Method::PATCH));
    let set = driver.set().await;
    assert_eq!(set.spec.as_ref().unwrap().replicas, Some(1));
    let ours: Vec<_> =
        set.managed_fields().iter().filter(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER)).collect();
    assert_eq!(ours.len(), 1, "one manager, one entry");
    assert_eq!(ours[0].operation.as_deref(), Some("Apply"));
}
