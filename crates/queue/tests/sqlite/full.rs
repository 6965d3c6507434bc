//! A volume that is full: new jobs are refused, finished ones are stored, and everything goes on when there is room.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use vmafx_job::CancelCause;
use vmafx_job::TenantLimits;
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{Options, SqliteStore};
use vmafx_queue::store::Reported;
use vmafx_queue::{Store as _, StoreError};
use vmafx_testkit::small_volume::SmallVolume;
use vmafx_testkit::wait;

use crate::fixture::{Fixture, RESERVE, job};

#[test]
fn on_a_full_volume_jobs_are_refused_and_their_ends_are_stored() {
    SmallVolume::run("full::on_a_small_volume", 24);
}

fn open(fixture: &Fixture, volume: &Path) -> SqliteStore {
    let clock = Arc::new(fixture.clock.clone());
    let path = volume.join("queue.db");
    SqliteStore::open(Options { path, policy: Policy::default(), clock, reserve: RESERVE }).unwrap()
}

/// Submits until the store refuses.
async fn submit_until_refused(fixture: &Fixture, store: &SqliteStore) -> StoreError {
    for _ in 0..20_000 {
        if let Err(error) = store.submit(&fixture.tenant, job(), &TenantLimits::default()).await {
            return error;
        }
    }
    panic!("the volume does not become full");
}

#[tokio::test]
#[ignore = "runs on a small volume, started by the test above"]
async fn on_a_small_volume() {
    let volume = SmallVolume::of_this_test();
    let fixture = Fixture::new();
    let store = open(&fixture, volume.path());
    let node = fixture.register(&store).await;
    fixture.submit(&store).await;
    let waiting = fixture.submit(&store).await;
    let running = fixture.claim(&store, &node).await.unwrap();
    store.close().await;
    drop(store);
    let ballast = volume.fill();

    // Only the reserve is left, and the controller starts.
    let store = open(&fixture, volume.path());
    assert!(store.is_full());
    store.ready().await.unwrap();
    let refused = store.submit(&fixture.tenant, job(), &TenantLimits::default()).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Full { .. }), "{refused:?}");
    assert!(refused.to_string().starts_with("the store is full: free space on its volume"), "{refused}");
    assert_eq!(fixture.claim(&store, &node).await, None, "no new work is begun");
    assert!(matches!(fixture.complete(&store, &node, &running).await, Reported::Moved { .. }));
    let cancelled =
        store.cancel(&fixture.tenant, waiting, CancelCause::Requested, "").await.unwrap().unwrap();
    assert!(cancelled.moved);
    store.sweep().await.unwrap();

    drop(ballast);
    let accepted = async || store.submit(&fixture.tenant, job(), &TenantLimits::default()).await.is_ok();
    wait::until(Duration::from_secs(30), "the store to go on", accepted).await.unwrap();
    assert!(!store.is_full());
    let running = fixture.claim(&store, &node).await.unwrap();

    // The volume becomes full while the controller runs.
    let _ballast = volume.fill();
    let refused = submit_until_refused(&fixture, &store).await;
    assert!(matches!(&refused, StoreError::Full { .. }), "{refused:?}");
    assert!(store.is_full());
    assert!(matches!(fixture.complete(&store, &node, &running).await, Reported::Moved { .. }));
}
