//! Opening a store: roles, migrations and TLS.

use std::error::Error as _;
use std::time::Duration;

use rstest::rstest;
use tokio::task::JoinSet;
use vmafx_job::CancelCause;
use vmafx_job::TenantLimits;
use vmafx_queue::postgres::{ConnectError, Options, PostgresStore, migrate};
use vmafx_queue::{Store as _, StoreError};
use vmafx_testkit::postgres::PostgresServer;
use vmafx_testkit::wait;

use crate::support::{Raw, database, job, open, tenant};

#[tokio::test]
async fn a_superuser_is_refused_and_told_what_to_do() {
    let database = database().await;
    let error = PostgresStore::connect(Options::new(database.superuser_dsn())).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Privileged { role } if role == "postgres"), "{error:?}");
    assert!(error.to_string().contains("NOSUPERUSER NOBYPASSRLS"), "{error}");
}

#[tokio::test]
async fn a_role_that_no_policy_holds_for_is_refused() {
    let database = database().await;
    let admin = Raw::connect(database.superuser_dsn()).await;
    admin.run(&format!("ALTER ROLE {} BYPASSRLS", database.name())).await;
    let error = PostgresStore::connect(Options::new(database.dsn())).await.unwrap_err();
    assert!(matches!(error, ConnectError::Privileged { .. }), "{error:?}");
}

#[tokio::test]
async fn many_may_migrate_at_once() {
    let database = database().await;
    let mut replicas = JoinSet::new();
    for _ in 0..6 {
        let dsn = database.dsn().to_owned();
        replicas.spawn(async move { migrate(&dsn).await });
    }
    let versions: Vec<i64> = replicas.join_all().await.into_iter().map(Result::unwrap).collect();
    let raw = Raw::connect(database.dsn()).await;
    assert_eq!(versions, [raw.number("SELECT schema_version FROM vmafx.meta").await; 6]);
    assert_eq!(raw.number("SELECT count(*) FROM vmafx.meta").await, 1);
}

/// Takes back what the migrations after the third did.
const UNDO_TO_VERSION_3: &str = "
DROP INDEX vmafx.jobs_key;
DROP TABLE vmafx.tenant_usage;
ALTER TABLE vmafx.samples DROP COLUMN labelled_by;
ALTER TABLE vmafx.jobs DROP COLUMN bytes, DROP COLUMN labelled_by, DROP COLUMN submitter, DROP COLUMN request_digest, DROP COLUMN cancel_cause;
CREATE UNIQUE INDEX jobs_key ON vmafx.jobs (idempotency_key, tenant_id) WHERE idempotency_key IS NOT NULL;
DROP TABLE vmafx.lives;
ALTER TABLE vmafx.meta DROP COLUMN settled_xid, DROP COLUMN clock_shift;
ALTER TABLE vmafx.job_attempts DROP COLUMN token_sha256, DROP COLUMN reason;
ALTER TABLE vmafx.jobs DROP COLUMN next_spec, DROP COLUMN lease_pull,
    DROP COLUMN failed_attempt, DROP COLUMN failed_node, DROP COLUMN failed_reason, DROP COLUMN failed_error,
    DROP COLUMN avoid_node, DROP COLUMN avoid_until;
DROP TABLE vmafx.node_faults";

#[tokio::test]
async fn an_older_schema_is_brought_up_to_date_with_all_that_is_in_it() {
    let database = database().await;
    let store = open(&database).await;
    let id = store.submit(&tenant("acme"), job(""), &TenantLimits::default()).await.unwrap().id;
    store.close().await;
    let raw = Raw::connect(database.dsn()).await;
    let newest = raw.number("SELECT schema_version FROM vmafx.meta").await;
    raw.run(
        "ALTER TABLE vmafx.job_attempts ADD CONSTRAINT job_attempts_job_id_fkey
             FOREIGN KEY (job_id) REFERENCES vmafx.jobs ON DELETE CASCADE;
         UPDATE vmafx.meta SET schema_version = 1",
    )
    .await;
    raw.run(UNDO_TO_VERSION_3).await;
    assert_eq!(migrate(database.dsn()).await.unwrap(), newest);
    assert_eq!(raw.number("SELECT count(*) FROM pg_constraint WHERE contype = 'f'").await, 0);
    let store = open(&database).await;
    assert_eq!(store.job(&tenant("acme"), id).await.unwrap().unwrap().id, id);
}

#[tokio::test]
async fn jobs_cancelled_before_causes_were_stored_get_the_cause_of_their_text() {
    let database = database().await;
    let store = open(&database).await;
    let cases = [
        ("suspended by its VmafxJob", CancelCause::Suspended),
        ("its VmafxJob has another priority", CancelCause::Replaced),
        ("its VmafxJob is gone", CancelCause::ResourceGone),
        ("by hand", CancelCause::Requested),
    ];
    let mut expected = Vec::new();
    for (reason, cause) in cases {
        let id = store.submit(&tenant("acme"), job(""), &TenantLimits::default()).await.unwrap().id;
        store.cancel(&tenant("acme"), id, CancelCause::Requested, reason).await.unwrap();
        expected.push((id, format!("cancelled: {reason}"), Some(cause)));
    }
    store.close().await;
    let raw = Raw::connect(database.dsn()).await;
    raw.run(UNDO_TO_VERSION_3).await;
    raw.run("UPDATE vmafx.meta SET schema_version = 3").await;
    let store = open(&database).await;
    for (id, error, cause) in expected {
        let job = store.job(&tenant("acme"), id).await.unwrap().unwrap();
        assert_eq!((job.error, job.cancel_cause), (error, cause));
    }
}

#[tokio::test]
async fn a_newer_schema_is_left_alone_and_said_to_be_newer() {
    let database = database().await;
    let store = open(&database).await;
    let raw = Raw::connect(database.dsn()).await;
    raw.run("UPDATE vmafx.meta SET schema_version = 99").await;
    let error = migrate(database.dsn()).await.unwrap_err().to_string();
    assert!(error.starts_with("the store's schema has version 99, this program needs "), "{error}");
    let error = PostgresStore::connect(Options::new(database.dsn())).await.unwrap_err();
    let newer = ConnectError::Store(StoreError::Schema { found: 99, needed: 2, remedy: "" });
    assert_eq!(std::mem::discriminant(&error), std::mem::discriminant(&newer), "{error:?}");
    assert!(matches!(store.ready().await, Err(StoreError::Schema { found: 99, .. })));
}

#[tokio::test]
async fn a_database_restored_into_a_younger_cluster_shows_its_jobs_and_ends_old_cursors() {
    let database = database().await;
    let store = open(&database).await;
    let cursor = store.position(&tenant("acme")).await.unwrap();
    let id = store.submit(&tenant("acme"), job(""), &TenantLimits::default()).await.unwrap().id;
    store.close().await;
    let raw = Raw::connect(database.dsn()).await;
    raw.run(
        "SET vmafx.maintenance = 'on'; UPDATE vmafx.jobs SET change_xid = '999999999999';
             UPDATE vmafx.meta SET swept_xid = '999999999999'",
    )
    .await;
    let store = open(&database).await;
    assert!(matches!(store.changes(&tenant("acme"), &cursor, 10).await, Err(StoreError::Cursor)));
    let anew = store.position(&tenant("acme")).await.unwrap();
    store.cancel(&tenant("acme"), id, CancelCause::Requested, "").await.unwrap();
    let changes = store.changes(&tenant("acme"), &anew, 10).await.unwrap();
    assert_eq!(changes.jobs.len(), 1);
}

#[tokio::test]
async fn an_authority_that_is_replaced_is_used_by_the_next_connection() {
    let database = database().await;
    let authority = PostgresServer::shared().await.unwrap().ca_file();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.crt");
    std::fs::copy(&authority, &file).unwrap();
    let dsn = format!("{}?sslmode=verify-ca&sslrootcert={}", database.dsn(), file.display());
    let store = PostgresStore::connect(Options::new(dsn)).await.unwrap();
    let raw = Raw::connect(database.superuser_dsn()).await;
    let disconnect = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{}'",
        database.name()
    );

    // The authority of the server is not in the file any more, so no new connection succeeds.
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new([]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
    let refused = || async {
        raw.number(&disconnect).await;
        store.ready().await.is_err()
    };
    wait::until(Duration::from_secs(20), "the store to refuse the server", refused).await.unwrap();

    std::fs::copy(&authority, &file).unwrap();
    let ready = || async { store.ready().await };
    wait::until(Duration::from_secs(20), "the store to accept the server", ready).await.unwrap();
}

#[rstest]
#[case::off("sslmode=disable", None)]
#[case::not_asked_for("sslmode=prefer", None)]
#[case::encrypted("sslmode=require", None)]
#[case::signed("sslmode=verify-ca&sslrootcert={ca}", None)]
#[case::signed_and_named("sslmode=verify-full&sslrootcert={ca}", None)]
#[case::signed_by_nobody_we_know("sslmode=verify-full", Some("UnknownIssuer"))]
#[case::required_with_an_authority("sslmode=require&sslrootcert={ca}", None)]
#[tokio::test]
async fn the_way_there_is_as_safe_as_was_asked_for(#[case] mode: &str, #[case] refused: Option<&str>) {
    let database = database().await;
    let authority = PostgresServer::shared().await.unwrap().ca_file();
    let mode = mode.replace("{ca}", authority.to_str().unwrap());
    let opened = PostgresStore::connect(Options::new(format!("{}?{mode}", database.dsn()))).await;
    if let Some(reason) = refused {
        let error = opened.unwrap_err();
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        let messages: Vec<_> = causes.map(ToString::to_string).collect();
        assert!(messages.iter().any(|text| text.contains(reason)), "{error}: {messages:?}");
        return;
    }
    let store = opened.unwrap();
    store.ready().await.unwrap();
    let raw = Raw::connect(database.superuser_dsn()).await;
    let encrypted = format!(
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE usename = '{}' AND ssl",
        database.name()
    );
    assert_eq!(raw.number(&encrypted).await > 0, !mode.contains("disable"), "{mode}");
}
