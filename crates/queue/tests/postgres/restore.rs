//! A database that goes back in time ends the cursors of the future that was lost, and keeps those of the shared past.

use rstest::rstest;
use vmafx_job::CancelCause;
use vmafx_job::TenantLimits;
use vmafx_queue::postgres::PostgresStore;
use vmafx_queue::{JobId, Store as _, StoreError, TenantId};
use vmafx_testkit::postgres::{PostgresServer, RestoreMode, ShutdownMode};

use crate::support::{Raw, cycle, job, node, open, tenant};

/// The jobs that changed after a cursor; `None` when the store refuses it.
async fn changed(store: &PostgresStore, whose: &TenantId, cursor: &str) -> Option<Vec<JobId>> {
    match store.changes(whose, cursor, 1000).await {
        Ok(changes) => Some(changes.jobs.iter().map(|(_, job)| job.id).collect()),
        Err(StoreError::Cursor) => None,
        Err(error) => panic!("{error:?}"),
    }
}

#[rstest]
#[case::snapshot(RestoreMode::Snapshot)]
#[case::point_in_time(RestoreMode::PointInTime)]
#[tokio::test]
async fn a_cursor_of_a_lost_future_is_refused_also_after_the_numbers_have_passed_it(
    #[case] mode: RestoreMode,
) {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let whose = tenant("acme");
    let store = open(&database).await;
    let shared_past = store.position(&whose).await.unwrap();
    let kept = store.submit(&whose, job(""), &TenantLimits::default()).await.unwrap().id;
    store.sweep().await.unwrap();
    store.close().await;
    server.back_up().await.unwrap();

    let store = open(&database).await;
    let first = store.submit(&whose, job(""), &TenantLimits::default()).await.unwrap().id;
    let lost = store.position(&whose).await.unwrap();
    store.cancel(&whose, first, CancelCause::Requested, "").await.unwrap();
    let at_a_change = store.changes(&whose, &lost, 10).await.unwrap().next;
    store.close().await;
    server.restore(mode).await.unwrap();

    let store = open(&database).await;
    assert_eq!(store.job(&whose, first).await.unwrap(), None, "the job belongs to the lost future");
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    let raw = Raw::connect(database.dsn()).await;
    let passed = raw.number("SELECT pg_current_xact_id()::text::bigint").await + 50;
    while raw.number("SELECT pg_current_xact_id()::text::bigint").await < passed {
        cycle(&*store, &whose, &who).await;
    }
    assert_eq!(changed(&store, &whose, &lost).await, None);
    assert_eq!(changed(&store, &whose, &at_a_change).await, None);
    let since = changed(&store, &whose, &shared_past).await.unwrap();
    assert!(since.contains(&kept), "both histories share the past of this cursor");
}

#[tokio::test]
async fn a_restart_of_the_database_keeps_the_cursors_that_the_last_sweep_covers() {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let whose = tenant("acme");
    let store = open(&database).await;
    let id = store.submit(&whose, job(""), &TenantLimits::default()).await.unwrap().id;
    let before = store.position(&whose).await.unwrap();
    store.cancel(&whose, id, CancelCause::Requested, "").await.unwrap();
    let after = store.changes(&whose, &before, 10).await.unwrap().next;
    store.submit(&whose, job(""), &TenantLimits::default()).await.unwrap();
    store.sweep().await.unwrap();
    server.restart(ShutdownMode::Immediate).await.unwrap();
    assert_eq!(changed(&store, &whose, &before).await.map(|jobs| jobs.len()), Some(2));
    assert_eq!(changed(&store, &whose, &after).await.map(|jobs| jobs.len()), Some(1));
}
