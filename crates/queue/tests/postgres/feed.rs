//! Readers skip no change, in whatever order transactions commit.

use std::time::Duration;

use rstest::rstest;
use vmafx_job::TenantLimits;
use vmafx_queue::postgres::{Options, PostgresStore};
use vmafx_queue::store::Changes;
use vmafx_queue::{JobId, Store as _};
use vmafx_testkit::postgres::PostgresDatabase;
use vmafx_testkit::wait;

use crate::frozen::FrozenConnections;
use crate::support::{Raw, cycle, database, job, node, open, tenant};

fn ids(changes: &Changes) -> Vec<JobId> {
    changes.jobs.iter().map(|(_, job)| job.id).collect()
}

fn insert(id: JobId) -> String {
    format!(
        "INSERT INTO vmafx.jobs (id, tenant_id, status, backend, priority, created_at, updated_at, spec)
         VALUES ('{id}', 'acme', 'pending', '', 0, 1, 1, '{{\"reference\":\"r\",\"distorted\":\"d\"}}')"
    )
}

#[tokio::test]
async fn a_change_that_commits_late_is_not_skipped() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let start = store.position(&whose).await.unwrap();
    let late = JobId(uuid::Uuid::now_v7());
    let slow = Raw::connect(database.dsn()).await;
    slow.run("SET vmafx.tenant_id = 'acme'; BEGIN").await;
    slow.run(&insert(late)).await;
    // This transaction starts later and commits earlier.
    let early = store.submit(&whose, job(""), &TenantLimits::default()).await.unwrap().id;

    let held_back = store.changes(&whose, &start, 10).await.unwrap();
    assert_eq!(ids(&held_back), [], "the later one would hide the earlier one");
    slow.run("COMMIT").await;
    let all = store.changes(&whose, &held_back.next, 10).await.unwrap();
    assert_eq!(ids(&all), [late, early]);
    assert_eq!(ids(&store.changes(&whose, &all.next, 10).await.unwrap()), []);
}

#[tokio::test]
async fn a_reader_that_was_held_back_is_notified_again() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let start = store.position(&whose).await.unwrap();
    let slow = Raw::connect(database.dsn()).await;
    slow.run("SET vmafx.tenant_id = 'acme'; BEGIN").await;
    slow.run(&insert(JobId(uuid::Uuid::now_v7()))).await;
    store.submit(&whose, job(""), &TenantLimits::default()).await.unwrap();
    let mut notifications = store.notifications();
    store.changes(&whose, &start, 10).await.unwrap();
    slow.run("ROLLBACK").await;
    let again = vmafx_queue::notification::Notification::Changed { tenant: whose.clone() };
    let notified = async { while notifications.recv().await.unwrap() != again {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), notified).await.unwrap();
    assert_eq!(store.changes(&whose, &start, 10).await.unwrap().jobs.len(), 1);
}

#[tokio::test]
async fn a_page_may_end_within_a_transaction() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let mut cursor = store.position(&whose).await.unwrap();
    let mut all: Vec<JobId> = (0..7).map(|_| JobId(uuid::Uuid::new_v4())).collect();
    let raw = Raw::connect(database.dsn()).await;
    let inserts: Vec<String> = all.iter().map(|id| insert(*id)).collect();
    raw.run(&format!("SET vmafx.tenant_id = 'acme'; BEGIN; {}; COMMIT", inserts.join(";"))).await;
    all.sort();
    let mut read = Vec::new();
    for expected in [3, 3, 1, 0] {
        let page = store.changes(&whose, &cursor, 3).await.unwrap();
        assert_eq!(page.jobs.len(), expected);
        read.extend(ids(&page));
        cursor = page.next;
    }
    assert_eq!(read, all);
}

#[tokio::test]
async fn a_sample_that_commits_late_is_not_skipped() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    let sample = |job: u128| {
        format!(
            "INSERT INTO vmafx.samples (tenant_id, job_id, features, label, node_labels, created_at)
             VALUES ('acme', '{}', '{{}}', 1, '{{}}', 1)",
            uuid::Uuid::from_u128(job)
        )
    };
    let slow = Raw::connect(database.dsn()).await;
    slow.run("SET vmafx.tenant_id = 'acme'; BEGIN").await;
    slow.run(&sample(1)).await;
    let quick = cycle(&*store, &whose, &who).await;
    let label = vmafx_queue::job::Label::percent(5.0).unwrap();
    store
        .label(
            &whose,
            &vmafx_queue::store::LabelTarget::Id(quick),
            label,
            &vmafx_queue::job::Labeller::default(),
        )
        .await
        .unwrap();

    let held_back = store.samples(&whose, "", 10).await.unwrap();
    assert_eq!(held_back.samples.len(), 0);
    slow.run("COMMIT").await;
    let all = store.samples(&whose, &held_back.next, 10).await.unwrap();
    let jobs: Vec<JobId> = all.samples.iter().map(|(_, sample)| sample.job).collect();
    assert_eq!(jobs, [JobId(uuid::Uuid::from_u128(1)), quick]);
}

#[tokio::test]
async fn a_cursor_ahead_of_the_database_is_refused() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let cursor = store.position(&whose).await.unwrap();
    let (name, _) = cursor.split_once('.').unwrap();
    let ahead = format!("{name}.cffffffffffffff.0");
    assert!(matches!(store.changes(&whose, &ahead, 1).await, Err(vmafx_queue::StoreError::Cursor)));
}

/// A role of another program, with rights of its own in the database of the store.
async fn another_role(database: &PostgresDatabase) -> String {
    let admin = Raw::connect(database.superuser_dsn()).await;
    let name = format!("etl_{}", database.name());
    admin
        .run(&format!(
            "CREATE ROLE {name} LOGIN PASSWORD 'etl'; CREATE SCHEMA etl AUTHORIZATION {name};
             GRANT pg_write_all_data TO {name}"
        ))
        .await;
    let (_, address) = database.dsn().split_once('@').unwrap();
    format!("postgres://{name}:etl@{address}")
}

#[rstest]
#[case::in_another_database(Neighbour::AnotherDatabase)]
#[case::of_another_role(Neighbour::AnotherRole)]
#[case::of_a_superuser(Neighbour::Superuser)]
#[tokio::test]
async fn an_open_transaction_of_somebody_else_delays_nothing(#[case] neighbour: Neighbour) {
    let store_database = database().await;
    let elsewhere = database().await;
    let (dsn, table) = match neighbour {
        Neighbour::AnotherDatabase => (elsewhere.dsn().to_owned(), "kept_open"),
        Neighbour::AnotherRole => (another_role(&store_database).await, "etl.kept_open"),
        Neighbour::Superuser => (store_database.superuser_dsn().to_owned(), "public.kept_open"),
    };
    let store = open(&store_database).await;
    let whose = tenant("acme");
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    let idle = Raw::connect(&dsn).await;
    idle.run(&format!("BEGIN; CREATE TABLE {table} ()")).await;

    let start = store.position(&whose).await.unwrap();
    let done = cycle(&*store, &whose, &who).await;
    let label = vmafx_queue::job::Label::percent(5.0).unwrap();
    store
        .label(
            &whose,
            &vmafx_queue::store::LabelTarget::Id(done),
            label,
            &vmafx_queue::job::Labeller::default(),
        )
        .await
        .unwrap();
    assert_eq!(ids(&store.changes(&whose, &start, 10).await.unwrap()), [done]);
    assert_eq!(store.samples(&whose, "", 10).await.unwrap().samples.len(), 1);
    idle.run("ROLLBACK").await;
}

#[derive(Clone, Copy, Debug)]
enum Neighbour {
    AnotherDatabase,
    AnotherRole,
    Superuser,
}

/// A controller that is stopped by SIGSTOP says nothing more on its connections, and the server cannot tell why.
#[tokio::test]
async fn a_controller_that_is_stopped_within_a_transaction_delays_the_feed_until_the_server_ends_it() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let frozen = FrozenConnections::before(&database, "UPDATE vmafx.meta SET").await;
    let stopped = PostgresStore::connect(Options::new(frozen.dsn())).await.unwrap();
    let mut sweeping = tokio::task::JoinSet::new();
    sweeping.spawn(async move { drop(stopped.sweep().await) });
    frozen.until_frozen().await;

    let start = store.position(&whose).await.unwrap();
    let id = store.submit(&whose, job(""), &TenantLimits::default()).await.unwrap().id;
    assert_eq!(
        ids(&store.changes(&whose, &start, 10).await.unwrap()),
        [],
        "held back by the open transaction"
    );
    let read = async || ids(&store.changes(&whose, &start, 10).await.unwrap()) == [id];
    wait::until(Duration::from_mins(1), "the server to end the transaction", read).await.unwrap();
}
