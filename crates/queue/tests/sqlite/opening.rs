//! Opening and migrating a file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use vmafx_job::CancelCause;
use vmafx_queue::Store as _;
use vmafx_queue::sqlite::OpenError;

use crate::fixture::{Fixture, UNDO_TO_VERSION_6};

#[tokio::test]
async fn a_second_store_on_one_file_is_refused_and_told_who_has_it() {
    let fixture = Fixture::new();
    let first = fixture.open();
    let error = fixture.try_open(fixture.file()).unwrap_err();
    let expected = format!(
        "{} is in use by process {}: stop that process, or use another file",
        fixture.file().canonicalize().unwrap().display(),
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    fixture.submit(&first).await;
}

#[tokio::test]
async fn another_name_of_the_same_file_is_no_way_around_it() {
    let fixture = Fixture::new();
    let _first = fixture.open();
    let link = fixture.directory().join("link.db");
    std::os::unix::fs::symlink(fixture.file(), &link).unwrap();
    assert!(matches!(fixture.try_open(link), Err(OpenError::Locked { .. })));
}

#[tokio::test]
async fn a_dropped_store_lets_the_next_one_in() {
    let fixture = Fixture::new();
    let id = fixture.submit(&fixture.open()).await;
    assert!(fixture.open().job(&fixture.tenant, id).await.unwrap().is_some());
}

#[tokio::test]
async fn the_file_and_a_directory_that_is_made_are_for_its_owner_only() {
    let fixture = Fixture::new();
    let directory = fixture.directory().join("state/vmafx");
    let file = directory.join("queue.db");
    let store = fixture.try_open(file.clone()).unwrap();
    fixture.submit(&store).await;
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.clone()), 0o700);
    for name in ["queue.db", "queue.db-wal", "queue.db.lock"] {
        assert_eq!(mode(directory.join(name)), 0o600, "{name}");
    }
}

/// Takes back all migrations but the first, after [`UNDO_TO_VERSION_6`].
const UNDO_TO_VERSION_1: &str = "
ALTER TABLE jobs DROP COLUMN cancel_cause;
ALTER TABLE jobs DROP COLUMN lease_pull;
ALTER TABLE jobs DROP COLUMN next_spec;
ALTER TABLE attempts DROP COLUMN token_sha256;
ALTER TABLE attempts DROP COLUMN reason;
DROP TABLE node_faults;
DROP INDEX jobs_claim;
DROP INDEX jobs_avoid;
ALTER TABLE jobs DROP COLUMN failed_attempt;
ALTER TABLE jobs DROP COLUMN failed_node;
ALTER TABLE jobs DROP COLUMN failed_reason;
ALTER TABLE jobs DROP COLUMN failed_error;
ALTER TABLE jobs DROP COLUMN avoid_node;
ALTER TABLE jobs DROP COLUMN avoid_until;
CREATE INDEX jobs_claim ON jobs (tenant) WHERE ready = 1;
PRAGMA user_version = 1";

#[tokio::test]
async fn jobs_cancelled_before_causes_were_stored_get_the_cause_of_their_text() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let cases = [
        ("suspended by its VmafxJob", CancelCause::Suspended),
        ("its VmafxJob has another priority", CancelCause::Replaced),
        ("its VmafxJob is gone", CancelCause::ResourceGone),
        ("by hand", CancelCause::Requested),
    ];
    let mut expected = Vec::new();
    for (reason, cause) in cases {
        let id = fixture.submit(&store).await;
        store.cancel(&fixture.tenant, id, CancelCause::Requested, reason).await.unwrap();
        expected.push((id, format!("cancelled: {reason}"), Some(cause)));
    }
    store.close().await;
    let change = rusqlite::Connection::open(fixture.file()).unwrap();
    change.execute_batch(UNDO_TO_VERSION_6).unwrap();
    change.execute_batch(UNDO_TO_VERSION_1).unwrap();
    drop(change);
    let store = fixture.open();
    for (id, error, cause) in expected {
        let job = store.job(&fixture.tenant, id).await.unwrap().unwrap();
        assert_eq!((job.error, job.cancel_cause), (error, cause));
    }
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let fixture = Fixture::new();
    fixture.open().close().await;
    let change = rusqlite::Connection::open(fixture.file()).unwrap();
    change.pragma_update(None, "user_version", 99).unwrap();
    drop(change);
    let error = fixture.try_open(fixture.file()).unwrap_err().to_string();
    assert!(error.contains("has version 99, this program supports "), "{error}");
    assert!(error.contains(": start the newer program"), "{error}");
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let fixture = Fixture::new();
    let other = rusqlite::Connection::open(fixture.file()).unwrap();
    other.execute_batch("CREATE TABLE jobs (id TEXT PRIMARY KEY, status TEXT)").unwrap();
    drop(other);
    let error = fixture.try_open(fixture.file()).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named() {
    let fixture = Fixture::new();
    fs::write(fixture.file(), "reference,distorted\n".repeat(500)).unwrap();
    let error = fixture.try_open(fixture.file()).unwrap_err();
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
    assert!(error.to_string().contains("queue.db is not an SQLite database"), "{error}");
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fixture.submit(&store).await;
    store.close().await;
    let mut bytes = fs::read(fixture.file()).unwrap();
    bytes[4096..].fill(0x5a);
    fs::write(fixture.file(), bytes).unwrap();
    let error = fixture.try_open(fixture.file()).unwrap_err();
    assert!(matches!(error, OpenError::NotADatabase { .. } | OpenError::Contents { .. }), "{error:?}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_an_error_with_a_cause() {
    let fixture = Fixture::new();
    fs::write(fixture.directory().join("file"), "").unwrap();
    let error = fixture.try_open(fixture.directory().join("file/queue.db")).unwrap_err();
    assert!(matches!(error, OpenError::Path { .. }), "{error:?}");
}
