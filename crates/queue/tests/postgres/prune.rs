//! Samples are removed in order, and only where no further sample can appear: a reader never gets the error that it
//! missed a sample that it could not have read.

use std::time::Duration;

use vmafx_queue::postgres::PostgresStore;
use vmafx_queue::store::Retention;
use vmafx_queue::{Store as _, TenantId};

use crate::support::{Raw, database, open, tenant};

const NOTHING: Retention =
    Retention { jobs_for: Duration::ZERO, jobs: 0, samples_for: Duration::ZERO, samples: 0, batch: 1000 };

fn insert(job: u128, created_at: i64) -> String {
    format!(
        "INSERT INTO vmafx.samples (tenant_id, job_id, features, label, node_labels, created_at)
         VALUES ('acme', '{}', '{{}}', 1, '{{}}', {created_at})",
        uuid::Uuid::from_u128(job)
    )
}

/// Reads all samples after a cursor, one page at a time.
async fn follow(store: &PostgresStore, whose: &TenantId, mut cursor: String) -> (Vec<u128>, String) {
    let mut read = Vec::new();
    loop {
        let page = store.samples(whose, &cursor, 1).await.unwrap();
        cursor = page.next;
        if page.samples.is_empty() {
            return (read, cursor);
        }
        read.extend(page.samples.iter().map(|(_, sample)| sample.job.0.as_u128()));
    }
}

#[tokio::test]
async fn what_is_above_a_running_transaction_is_not_removed_before_it() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let (slow, quick) = (Raw::connect(database.dsn()).await, Raw::connect(database.dsn()).await);
    slow.run("SET vmafx.tenant_id = 'acme'; BEGIN").await;
    slow.run(&insert(1, 1)).await;
    quick.run("SET vmafx.tenant_id = 'acme'").await;
    quick.run(&insert(2, 1)).await;

    assert_eq!(store.prune(&NOTHING).await.unwrap().samples, 0);
    let (read, cursor) = follow(&store, &whose, String::new()).await;
    assert_eq!(read, []);
    slow.run("COMMIT").await;
    let (read, cursor) = follow(&store, &whose, cursor).await;
    assert_eq!(read, [1, 2]);
    assert_eq!(store.prune(&NOTHING).await.unwrap().samples, 2);
    assert_eq!(follow(&store, &whose, cursor).await.0, []);
}

#[tokio::test]
async fn a_younger_one_before_an_old_one_does_not_stay_behind() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let raw = Raw::connect(database.dsn()).await;
    raw.run("SET vmafx.tenant_id = 'acme'").await;
    // The clock was set back between the first and the second sample.
    let future = i64::MAX / 2;
    for (job, created_at) in [(1, future), (2, 1), (3, future)] {
        raw.run(&insert(job, created_at)).await;
    }
    let old = Retention { samples: 1000, samples_for: Duration::from_mins(1), ..NOTHING };
    assert_eq!(store.prune(&old).await.unwrap().samples, 2);
    assert_eq!(follow(&store, &whose, String::new()).await.0, [3]);
}

#[tokio::test]
async fn a_long_transaction_elsewhere_on_the_server_keeps_nothing_from_being_removed() {
    let (store_database, elsewhere) = (database().await, database().await);
    let store = open(&store_database).await;
    let whose = tenant("acme");
    let slow = Raw::connect(elsewhere.dsn()).await;
    slow.run("BEGIN; CREATE TABLE kept_open ()").await;
    let raw = Raw::connect(store_database.dsn()).await;
    raw.run("SET vmafx.tenant_id = 'acme'").await;
    raw.run(&insert(1, 1)).await;
    let (read, seen) = follow(&store, &whose, String::new()).await;
    assert_eq!(read, [1]);
    assert_eq!(store.prune(&NOTHING).await.unwrap().samples, 1);
    assert_eq!(follow(&store, &whose, seen).await.0, []);
}
