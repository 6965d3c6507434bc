//! Who may open which file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use vmafx_queue::Store as _;
use vmafx_queue::sqlite::OpenError;

use crate::help::Place;

#[tokio::test]
async fn a_second_store_on_one_file_is_refused_and_told_who_has_it() {
    let place = Place::new();
    let first = place.open();
    let error = place.try_open(place.file()).unwrap_err();
    let expected = format!(
        "{} is in use by process {}: end it, or use another file",
        place.file().canonicalize().unwrap().display(),
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    place.submit(&first).await;
}

#[tokio::test]
async fn another_name_of_the_same_file_is_no_way_around_it() {
    let place = Place::new();
    let _first = place.open();
    let link = place.directory().join("link.db");
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    assert!(matches!(place.try_open(link), Err(OpenError::Locked { .. })));
}

#[tokio::test]
async fn a_closed_store_lets_the_next_one_in() {
    let place = Place::new();
    let first = place.open();
    first.close().await;
    let second = place.open();
    place.submit(&second).await;
}

#[tokio::test]
async fn a_dropped_store_lets_the_next_one_in() {
    let place = Place::new();
    let id = place.submit(&place.open()).await;
    assert!(place.open().job(&place.tenant, id).await.unwrap().is_some());
}

#[tokio::test]
async fn the_file_and_a_directory_that_is_made_are_for_its_owner_only() {
    let place = Place::new();
    let directory = place.directory().join("state/vmafx");
    let file = directory.join("queue.db");
    let store = place.try_open(file.clone()).unwrap();
    place.submit(&store).await;
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.clone()), 0o700);
    for name in ["queue.db", "queue.db-wal", "queue.db.lock"] {
        assert_eq!(mode(directory.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let place = Place::new();
    place.open().close().await;
    let change = rusqlite::Connection::open(place.file()).unwrap();
    change.pragma_update(None, "user_version", 99).unwrap();
    drop(change);
    let error = place.try_open(place.file()).unwrap_err().to_string();
    assert!(error.contains("has version 99, this program knows 1: start the newer program"), "{error}");
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let place = Place::new();
    let other = rusqlite::Connection::open(place.file()).unwrap();
    other.execute_batch("CREATE TABLE jobs (id TEXT PRIMARY KEY, status TEXT)").unwrap();
    drop(other);
    let error = place.try_open(place.file()).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named() {
    let place = Place::new();
    fs::write(place.file(), "reference,distorted\n".repeat(500)).unwrap();
    let error = place.try_open(place.file()).unwrap_err();
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
    assert!(error.to_string().contains("queue.db is not an SQLite database"), "{error}");
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let place = Place::new();
    let store = place.open();
    place.submit(&store).await;
    store.close().await;
    let mut bytes = fs::read(place.file()).unwrap();
    bytes[4096..].fill(0x5a);
    fs::write(place.file(), bytes).unwrap();
    let error = place.try_open(place.file()).unwrap_err();
    assert!(matches!(error, OpenError::NotADatabase { .. } | OpenError::Contents { .. }), "{error:?}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_an_error_with_a_cause() {
    let place = Place::new();
    fs::write(place.directory().join("file"), "").unwrap();
    let error = place.try_open(place.directory().join("file/queue.db")).unwrap_err();
    assert!(matches!(error, OpenError::Place { .. }), "{error:?}");
}
