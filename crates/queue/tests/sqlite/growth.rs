//! The size of the file.

use std::time::Duration;

use futures::future::join_all;
use vmafx_job::CancelCause;
use vmafx_queue::Store as _;
use vmafx_queue::sqlite::SqliteStore;
use vmafx_queue::store::Retention;

use crate::fixture::Fixture;

const JOBS: usize = 200;

/// Submits, completes and prunes jobs.
async fn round(fixture: &Fixture, store: &SqliteStore, node: &vmafx_queue::node::Credentials) {
    join_all((0..JOBS).map(|_| fixture.submit(store))).await;
    join_all((0..JOBS).map(|_| async {
        let job = fixture.claim(store, node).await.unwrap();
        fixture.complete(store, node, &job).await;
    }))
    .await;
    fixture.clock.advance(Duration::from_secs(1));
    let keep = Retention {
        jobs_for: Duration::from_hours(1),
        jobs: 300,
        samples_for: Duration::from_hours(1),
        samples: 300,
        batch: 100,
    };
    while store.prune(&keep).await.unwrap().jobs > 0 {}
}

fn size(fixture: &Fixture) -> u64 {
    ["queue.db", "queue.db-wal"]
        .map(|name| std::fs::metadata(fixture.directory().join(name)).map_or(0, |file| file.len()))
        .iter()
        .sum()
}

#[tokio::test]
async fn the_file_stops_growing_under_a_steady_load() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    let mut sizes = Vec::new();
    for _ in 0..6 {
        for _ in 0..5 {
            round(&fixture, &store, &node).await;
        }
        store.ready().await.unwrap();
        sizes.push(size(&fixture));
    }
    let [.., before, last] = sizes.as_slice() else { panic!("{sizes:?}") };
    assert!(last * 100 <= before * 102, "{sizes:?}");
}

#[tokio::test]
async fn space_of_a_backlog_that_is_gone_is_given_back() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    let ids = join_all((0..10_000).map(|_| fixture.submit(&store))).await;
    join_all(ids.iter().map(|id| store.cancel(&fixture.tenant, *id, CancelCause::Requested, ""))).await;
    fixture.clock.advance(Duration::from_secs(1));
    let high = size_after_close(&fixture, store).await;

    let store = fixture.open();
    let nothing =
        Retention { jobs_for: Duration::ZERO, jobs: 0, samples_for: Duration::ZERO, samples: 0, batch: 100 };
    while store.prune(&nothing).await.unwrap().jobs > 0 {}
    assert!(fixture.claim(&store, &node).await.is_none());
    let low = size_after_close(&fixture, store).await;
    assert!(low * 2 < high, "from {high} to {low}");
}

async fn size_after_close(fixture: &Fixture, store: SqliteStore) -> u64 {
    store.close().await;
    size(fixture)
}
