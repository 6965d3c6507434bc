//! A steady load in a file of steady size.

use std::time::Duration;

use futures::future::join_all;
use vmafx_job::CancelCause;
use vmafx_queue::Store as _;
use vmafx_queue::sqlite::SqliteStore;
use vmafx_queue::store::Retention;

use crate::help::Place;

const JOBS: usize = 200;

/// Jobs are submitted, scored and forgotten.
async fn round(place: &Place, store: &SqliteStore, node: &vmafx_queue::node::Credentials) {
    join_all((0..JOBS).map(|_| place.submit(store))).await;
    join_all((0..JOBS).map(|_| async {
        let job = place.claim(store, node).await.unwrap();
        place.complete(store, node, &job).await;
    }))
    .await;
    place.clock.advance(Duration::from_secs(1));
    let keep = Retention {
        jobs_for: Duration::from_hours(1),
        jobs: 300,
        samples_for: Duration::from_hours(1),
        samples: 300,
        batch: 100,
    };
    while store.prune(&keep).await.unwrap().jobs > 0 {}
}

fn size(place: &Place) -> u64 {
    ["queue.db", "queue.db-wal"]
        .map(|name| std::fs::metadata(place.directory().join(name)).map_or(0, |file| file.len()))
        .iter()
        .sum()
}

#[tokio::test]
async fn the_file_stops_growing_under_a_steady_load() {
    let place = Place::new();
    let store = place.open();
    let node = place.register(&store).await;
    let mut sizes = Vec::new();
    for _ in 0..6 {
        for _ in 0..5 {
            round(&place, &store, &node).await;
        }
        store.ready().await.unwrap();
        sizes.push(size(&place));
    }
    let [.., before, last] = sizes.as_slice() else { panic!("{sizes:?}") };
    assert!(last * 100 <= before * 102, "{sizes:?}");
}

#[tokio::test]
async fn space_of_a_backlog_that_is_gone_is_given_back() {
    let place = Place::new();
    let store = place.open();
    let node = place.register(&store).await;
    let ids = join_all((0..10_000).map(|_| place.submit(&store))).await;
    join_all(ids.iter().map(|id| store.cancel(&place.tenant, *id, CancelCause::Requested, ""))).await;
    place.clock.advance(Duration::from_secs(1));
    let high = size_when_still(&place, store).await;

    let store = place.open();
    let nothing =
        Retention { jobs_for: Duration::ZERO, jobs: 0, samples_for: Duration::ZERO, samples: 0, batch: 100 };
    while store.prune(&nothing).await.unwrap().jobs > 0 {}
    assert!(place.claim(&store, &node).await.is_none());
    let low = size_when_still(&place, store).await;
    assert!(low * 2 < high, "from {high} to {low}");
}

async fn size_when_still(place: &Place, store: SqliteStore) -> u64 {
    store.close().await;
    size(place)
}
