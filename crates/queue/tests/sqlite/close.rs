//! Closing a store.

use futures::future::join_all;
use vmafx_job::TenantLimits;
use vmafx_queue::{Store as _, StoreError};

use crate::fixture::{Fixture, job};

#[tokio::test]
async fn what_was_acknowledged_before_the_end_is_there_and_the_rest_was_refused() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let submits = join_all((0..500).map(|_| store.submit(&fixture.tenant, job(), &TenantLimits::DEFAULT)));
    let (answers, ()) = tokio::join!(submits, store.close());
    let mut kept = Vec::new();
    for answer in answers {
        match answer {
            Ok(submitted) => kept.push(submitted.id),
            Err(error) => assert!(matches!(error, StoreError::Closed), "{error:?}"),
        }
    }
    let store = fixture.open();
    for id in kept {
        assert!(store.job(&fixture.tenant, id).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_clean_end_leaves_one_file_with_its_lock_and_its_reserve() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let id = fixture.submit(&store).await;
    store.job(&fixture.tenant, id).await.unwrap();
    store.close().await;
    let mut names: Vec<_> = std::fs::read_dir(fixture.directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["queue.db", "queue.db.lock", "queue.db.reserve"]);
}
