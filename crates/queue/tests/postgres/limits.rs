//! Limits that several controllers keep together.

use std::sync::Arc;

use tokio::task::JoinSet;
use vmafx_job::{TenantLimit, TenantLimits};
use vmafx_queue::node::NewNode;
use vmafx_queue::store::Claim;
use vmafx_queue::{Store as _, StoreError};

use super::support::{Raw, database, job, node, open, tenant};

/// Each controller adds at most one batch to what it saw.
const SLACK: usize = 128;

#[tokio::test(flavor = "multi_thread")]
async fn two_controllers_exceed_a_limit_by_one_batch_at_most() {
    let database = database().await;
    let stores = [open(&database).await, open(&database).await];
    let limits = TenantLimits { pending_jobs: 300, ..TenantLimits::default() };
    let mut submitting = JoinSet::new();
    for number in 0..1200 {
        let store = stores[number % 2].clone();
        submitting.spawn(async move { store.submit(&tenant("acme"), job("cpu"), &limits).await.is_ok() });
    }
    let accepted = submitting.join_all().await.into_iter().filter(|accepted| *accepted).count();
    assert!((300..=300 + SLACK).contains(&accepted), "{accepted}");
    for store in &stores {
        let refused = store.submit(&tenant("acme"), job("cpu"), &limits).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::LimitReached { limit: TenantLimit::PendingJobs, max: 300 }),
            "{refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_claims_at_two_controllers_gets_no_more_than_its_slots() {
    let database = database().await;
    let stores = [open(&database).await, open(&database).await];
    let (whose, limits) = (tenant("acme"), TenantLimits::default());
    for _ in 0..40 {
        stores[0].submit(&whose, job("cpu"), &limits).await.unwrap();
    }
    let mut new: NewNode = node("n");
    new.capability.slots = 3;
    let who = Arc::new(stores[0].register(&whose, new, &limits).await.unwrap());
    let mut claiming = JoinSet::new();
    for number in 0..40 {
        let (store, who) = (stores[number % 2].clone(), who.clone());
        claiming.spawn(async move {
            let backends = ["cpu".to_owned(), ["cuda", "hip"][number / 2 % 2].to_owned()];
            let claim = store.claim(&tenant("acme"), &who, &backends, None, &TenantLimits::default()).await;
            matches!(claim.unwrap(), Claim::Job(_))
        });
    }
    let claimed = claiming.join_all().await.into_iter().filter(|claimed| *claimed).count();
    assert_eq!(claimed, 3);
}

/// A controller of an earlier version counts nothing.
#[tokio::test]
async fn jobs_that_nobody_counted_are_counted_at_the_next_start() {
    let database = database().await;
    let (whose, limits) = (tenant("acme"), TenantLimits::default());
    let store = open(&database).await;
    let who = store.register(&whose, node("n"), &limits).await.unwrap();
    for _ in 0..3 {
        store.submit(&whose, job("cpu"), &limits).await.unwrap();
    }
    store.claim(&whose, &who, &["cpu".to_owned()], None, &limits).await.unwrap();
    let raw = Raw::connect(database.dsn()).await;
    raw.run("SET vmafx.maintenance = 'on'; DELETE FROM vmafx.tenant_usage").await;
    store.close().await;

    let opened = [open(&database).await, open(&database).await];
    let counted = "SELECT sum(pending)::bigint * 100 + sum(running)::bigint FROM vmafx.tenant_usage";
    assert_eq!(raw.number(counted).await, 201);
    let two = TenantLimits { pending_jobs: 2, ..limits };
    assert!(opened[0].submit(&whose, job("cpu"), &two).await.is_err());
}
