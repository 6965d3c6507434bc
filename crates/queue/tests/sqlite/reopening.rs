//! What is still there after the store was closed and opened.

use std::time::Duration;

use vmafx_queue::node::Beat;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::{Reported, Retention};
use vmafx_queue::{Store as _, StoreError};

use crate::help::Place;

#[tokio::test]
async fn leases_and_sessions_get_their_full_time_again() {
    let place = Place::new();
    let store = place.open();
    let node = place.register(&store).await;
    place.submit(&store).await;
    let job = place.claim(&store, &node).await.unwrap();
    store.close().await;

    place.clock.advance(Duration::from_hours(48));
    let store = place.open();
    let found = store.job(&place.tenant, job.id).await.unwrap().unwrap();
    let full = place_time(&place) + Policy::default().lease_ttl;
    assert_eq!(found.lease_expires_at, Some(full));
    assert!(store.sweep().await.unwrap().forgiven);
    let beat = Beat { running: vec![job.id], progress: vec![] };
    let pulse = store.heartbeat(&place.tenant, &node, beat).await.unwrap().unwrap();
    assert_eq!((pulse.lost, pulse.cancelled), (vec![], vec![]));
    assert!(matches!(place.complete(&store, &node, &job).await, Reported::Moved { sampled: true, .. }));
}

fn place_time(place: &Place) -> vmafx_queue::clock::Timestamp {
    use vmafx_queue::clock::Clock as _;
    place.clock.now()
}

#[tokio::test]
async fn what_is_forgotten_does_not_take_a_cursor_back() {
    let place = Place::new();
    let store = place.open();
    let node = place.register(&store).await;
    for _ in 0..3 {
        place.submit(&store).await;
        let job = place.claim(&store, &node).await.unwrap();
        place.complete(&store, &node, &job).await;
    }
    let cursor = store.position(&place.tenant).await.unwrap();
    let samples = store.samples(&place.tenant, "", 10).await.unwrap();
    place.clock.advance(Duration::from_secs(1));
    let nothing =
        Retention { jobs_for: Duration::ZERO, jobs: 0, samples_for: Duration::ZERO, samples: 0, batch: 100 };
    let pruned = store.prune(&nothing).await.unwrap();
    assert_eq!((pruned.jobs, pruned.samples), (3, 3));
    store.close().await;

    let store = place.open();
    assert_eq!(store.position(&place.tenant).await.unwrap(), cursor);
    let id = place.submit(&store).await;
    let changed = store.changes(&place.tenant, &cursor, 10).await.unwrap();
    assert_eq!(changed.jobs.iter().map(|(_, job)| job.id).collect::<Vec<_>>(), [id]);

    // Whoever saw the last sample can go on; whoever did not has missed something.
    assert_eq!(store.samples(&place.tenant, &samples.next, 10).await.unwrap().samples, []);
    let missed = store.samples(&place.tenant, &samples.samples[1].0, 10).await;
    assert!(matches!(missed, Err(StoreError::Cursor)), "{missed:?}");
}

#[tokio::test]
async fn a_cursor_of_another_file_is_refused() {
    let (here, there) = (Place::new(), Place::new());
    let (store, other) = (here.open(), there.open());
    let cursor = other.position(&there.tenant).await.unwrap();
    assert!(matches!(store.changes(&here.tenant, &cursor, 10).await, Err(StoreError::Cursor)));
}
