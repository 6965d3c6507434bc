//! State after a store was closed and opened again.

use std::time::Duration;

use vmafx_queue::clock::Clock as _;
use vmafx_queue::node::Heartbeat;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Reported, Retention};
use vmafx_queue::{Store as _, StoreError};

use crate::fixture::Fixture;

#[tokio::test]
async fn leases_and_sessions_get_their_full_time_again() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    fixture.submit(&store).await;
    let job = fixture.claim(&store, &node).await.unwrap();
    store.close().await;

    fixture.clock.advance(Duration::from_hours(48));
    let store = fixture.open();
    let found = store.job(&fixture.tenant, job.id).await.unwrap().unwrap();
    assert_eq!(found.lease_expires_at, Some(fixture.clock.now() + Policy::default().lease_ttl));
    assert!(store.sweep().await.unwrap().renewed);
    let heartbeat = Heartbeat { running: vec![job.id], progress: vec![] };
    let reply = store.heartbeat(&fixture.tenant, &node, heartbeat).await.unwrap().unwrap();
    assert_eq!((reply.lost, reply.cancelled), (vec![], vec![]));
    assert!(matches!(fixture.complete(&store, &node, &job).await, Reported::Moved { sampled: true, .. }));
}

#[tokio::test]
async fn what_is_forgotten_does_not_take_a_cursor_back() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    for _ in 0..3 {
        fixture.submit(&store).await;
        let job = fixture.claim(&store, &node).await.unwrap();
        fixture.complete(&store, &node, &job).await;
    }
    let cursor = store.position(&fixture.tenant).await.unwrap();
    let samples = store.samples(&fixture.tenant, "", 10).await.unwrap();
    fixture.clock.advance(Duration::from_secs(1));
    let nothing =
        Retention { jobs_for: Duration::ZERO, jobs: 0, samples_for: Duration::ZERO, samples: 0, batch: 100 };
    let pruned = store.prune(&nothing).await.unwrap();
    assert_eq!((pruned.jobs, pruned.samples), (3, 3));
    store.close().await;

    let store = fixture.open();
    assert_eq!(store.changes(&fixture.tenant, &cursor, 10).await.unwrap().jobs, []);
    let id = fixture.submit(&store).await;
    let changed = store.changes(&fixture.tenant, &cursor, 10).await.unwrap();
    assert_eq!(changed.jobs.iter().map(|(_, job)| job.id).collect::<Vec<_>>(), [id]);

    // A reader that saw the last sample can continue; another one has missed samples.
    assert_eq!(store.samples(&fixture.tenant, &samples.next, 10).await.unwrap().samples, []);
    let missed = store.samples(&fixture.tenant, &samples.samples[1].0, 10).await;
    assert!(matches!(missed, Err(StoreError::Cursor)), "{missed:?}");
}
