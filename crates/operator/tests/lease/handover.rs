//! The handover of the lease from one leader to the next.

use vmafx_testkit::kube::ControlPlane;

use crate::candidate::{Candidate, count, long, record, short};
use crate::journal::{Began, Dropped, Ended, Journal};

#[tokio::test]
async fn one_of_two_leads_and_the_other_follows_when_it_stops() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("handover").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::start(cluster.config(), namespace.name(), "first", long(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let acquired = record(namespace.client(), namespace.name()).await;
    assert_eq!(acquired.holder_identity.as_deref(), Some("first"));
    assert_eq!((acquired.lease_duration_seconds, acquired.lease_transitions), (Some(600), Some(0)));

    let second = Candidate::start(cluster.config(), namespace.name(), "second", long(), &journal);
    second.wait_for_reads(3).await;
    assert!(first.permit.holds() && !second.permit.holds());
    assert_eq!(first.count("vmafx_operator_leader "), 1);
    assert_eq!(second.count("vmafx_operator_leader "), 0);

    let metrics = first.stop().await;
    assert_eq!(count(&metrics, "vmafx_operator_leader "), 0);
    assert_eq!(count(&metrics, "vmafx_operator_leader_transitions_total{turn=\"acquired\"} "), 1);
    assert_eq!(count(&metrics, "vmafx_operator_leader_transitions_total{turn=\"released\"} "), 1);
    assert_eq!(count(&metrics, "vmafx_operator_leader_transitions_total{turn=\"lost\"} "), 0);
    // The lease lasts ten minutes, so the second leads because the first has released it.
    journal.wait_for(&[Began("first"), Ended("first"), Began("second")]).await;
    let taken = record(namespace.client(), namespace.name()).await;
    assert_eq!(taken.holder_identity.as_deref(), Some("second"));
    assert_eq!(taken.lease_transitions, Some(1));
    assert!(taken.acquire_time > acquired.acquire_time);

    second.stop().await;
    let free = record(namespace.client(), namespace.name()).await;
    assert_eq!(
        (free.holder_identity.unwrap_or_default().as_str(), free.lease_duration_seconds),
        ("", Some(1))
    );
}

#[tokio::test]
async fn a_leader_renews_and_keeps_the_time_of_its_acquisition() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("renew").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::start(cluster.config(), namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let acquired = record(namespace.client(), namespace.name()).await;
    // 15 reads take longer than the lease lasts, so it was renewed meanwhile.
    let second = Candidate::start(cluster.config(), namespace.name(), "second", short(), &journal);
    second.wait_for_reads(15).await;
    let renewed = record(namespace.client(), namespace.name()).await;
    assert!(renewed.renew_time > acquired.renew_time);
    assert_eq!(renewed.acquire_time, acquired.acquire_time);
    assert_eq!(renewed.lease_transitions, Some(0));
    assert_eq!(journal.events(), [Began("first")]);
    second.stop().await;
    first.stop().await;
}

#[tokio::test]
async fn a_killed_leader_is_followed_when_its_lease_has_expired() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("killed").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::start(cluster.config(), namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let second = Candidate::start(cluster.config(), namespace.name(), "second", short(), &journal);
    second.wait_for_reads(1).await;
    first.kill().await;
    assert_eq!(record(namespace.client(), namespace.name()).await.holder_identity.as_deref(), Some("first"));
    journal.wait_for(&[Began("first"), Dropped("first"), Began("second")]).await;
    assert_eq!(record(namespace.client(), namespace.name()).await.lease_transitions, Some(1));
    second.stop().await;
}

#[tokio::test]
async fn the_lease_is_kept_until_the_work_has_ended() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("slow-end").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::slow(cluster.config(), namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let second = Candidate::start(cluster.config(), namespace.name(), "second", short(), &journal);
    first.shutdown.begin();
    // 15 reads take longer than the lease lasts.
    second.wait_for_reads(15).await;
    assert_eq!(journal.events(), [Began("first")]);
    first.end.notify_one();
    journal.wait_for(&[Began("first"), Ended("first"), Began("second")]).await;
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn a_candidate_that_stops_while_it_waits_does_not_touch_the_lease() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("waiting").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::start(cluster.config(), namespace.name(), "first", long(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let second = Candidate::start(cluster.config(), namespace.name(), "second", long(), &journal);
    second.wait_for_reads(2).await;
    second.stop().await;
    assert_eq!(record(namespace.client(), namespace.name()).await.holder_identity.as_deref(), Some("first"));
    assert!(first.permit.holds());
    first.stop().await;
    assert_eq!(journal.events(), [Began("first"), Ended("first")]);
}
