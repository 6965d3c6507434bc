//! A file that goes back in time ends the cursors of the future that was lost.

use std::fs;
use std::path::Path;

use vmafx_job::CancelCause;
use vmafx_queue::node::Credentials;
use vmafx_queue::sqlite::{BackupError, SqliteStore, back_up, restore};
use vmafx_queue::store::Reported;
use vmafx_queue::{JobId, Store as _, StoreError};

use crate::fixture::{Fixture, UNDO_TO_VERSION_6};

/// The jobs that changed after a cursor; `None` when the store refuses it.
async fn changed(fixture: &Fixture, store: &SqliteStore, cursor: &str) -> Option<Vec<JobId>> {
    match store.changes(&fixture.tenant, cursor, 1000).await {
        Ok(changes) => Some(changes.jobs.iter().map(|(_, job)| job.id).collect()),
        Err(StoreError::Cursor) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// Cursors of both feeds, after one more sample.
async fn cursors(fixture: &Fixture, store: &SqliteStore, node: &Credentials) -> (String, String) {
    fixture.submit(store).await;
    let job = fixture.claim(store, node).await.unwrap();
    assert!(matches!(fixture.complete(store, node, &job).await, Reported::Moved { sampled: true, .. }));
    let samples = store.samples(&fixture.tenant, "", 1000).await.unwrap();
    (store.position(&fixture.tenant).await.unwrap(), samples.next)
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
}

#[tokio::test]
async fn a_copied_file_ends_the_cursors_of_the_lost_future_also_after_the_numbers_have_passed_them() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    let shared_past = cursors(&fixture, &store, &node).await;
    store.close().await;
    let kept = fixture.directory().join("kept.db");
    copy(&fixture.file(), &kept);

    let store = fixture.open();
    let lost = cursors(&fixture, &store, &node).await;
    store.close().await;
    copy(&kept, &fixture.file());

    let store = fixture.open();
    for _ in 0..3 {
        cursors(&fixture, &store, &node).await;
    }
    assert_eq!(changed(&fixture, &store, &lost.0).await, None);
    assert!(matches!(store.samples(&fixture.tenant, &lost.1, 10).await, Err(StoreError::Cursor)));
    assert_eq!(changed(&fixture, &store, &shared_past.0).await.map(|jobs| jobs.len()), Some(3));
    let samples = store.samples(&fixture.tenant, &shared_past.1, 10).await.unwrap();
    assert_eq!(samples.samples.len(), 3, "both histories share the past of this cursor");
}

#[tokio::test]
async fn a_backup_of_a_live_store_ends_the_cursors_of_the_same_life_beyond_it() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    let shared_past = cursors(&fixture, &store, &node).await;
    let running = fixture.submit(&store).await;
    let job = fixture.claim(&store, &node).await.unwrap();
    let backup = fixture.directory().join("backup.db");
    let copied = back_up(&fixture.file(), &backup).unwrap();
    assert_eq!(copied.jobs, 2);
    let lost = cursors(&fixture, &store, &node).await;
    let unknown = fixture.submit(&store).await;
    let from_the_future = fixture.claim(&store, &node).await.unwrap();
    store.close().await;

    assert_eq!(restore(&backup, &fixture.file()).unwrap(), copied);
    let store = fixture.open();
    assert_eq!(
        fixture.complete(&store, &node, &from_the_future).await,
        Reported::Fenced,
        "its job never was"
    );
    assert_eq!(store.job(&fixture.tenant, unknown).await.unwrap(), None);
    assert!(matches!(fixture.complete(&store, &node, &job).await, Reported::Moved { .. }), "{running}");
    for _ in 0..3 {
        cursors(&fixture, &store, &node).await;
    }
    assert_eq!(changed(&fixture, &store, &lost.0).await, None);
    assert!(changed(&fixture, &store, &shared_past.0).await.is_some());
    let before = fixture.directory().join("queue.db.before-restore");
    assert!(fixture.try_open(before).is_ok(), "the replaced store is kept");
}

#[tokio::test]
async fn a_restart_keeps_every_cursor() {
    let fixture = Fixture::new();
    let mut store = fixture.open();
    let node = fixture.register(&store).await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(cursors(&fixture, &store, &node).await);
        store.close().await;
        drop(store);
        store = fixture.open();
    }
    for (age, (changes, _)) in all.iter().rev().enumerate() {
        assert_eq!(changed(&fixture, &store, changes).await.map(|jobs| jobs.len()), Some(age));
    }
}

#[tokio::test]
async fn a_cursor_of_an_earlier_version_is_good_until_the_first_opening_by_this_one() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let id = fixture.submit(&store).await;
    store.close().await;
    let file = rusqlite::Connection::open(fixture.file()).unwrap();
    file.execute_batch(UNDO_TO_VERSION_6).unwrap();
    let name: String = file.query_row("SELECT id FROM store", [], |row| row.get(0)).unwrap();
    drop(file);
    let store = fixture.open();
    assert_eq!(changed(&fixture, &store, &format!("{name}.c0")).await, Some(vec![id]));
    assert_eq!(changed(&fixture, &store, &format!("{name}.c1")).await, Some(vec![]));
    store.cancel(&fixture.tenant, id, CancelCause::Requested, "").await.unwrap();
    assert_eq!(changed(&fixture, &store, &format!("{name}.c2")).await, None);
}

#[tokio::test]
async fn a_backup_replaces_no_file_and_a_restore_no_running_store() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let backup = fixture.directory().join("backup.db");
    back_up(&fixture.file(), &backup).unwrap();
    let again = back_up(&fixture.file(), &backup).unwrap_err();
    assert!(matches!(again, BackupError::TargetExists { .. }), "{again}");
    let running = restore(&backup, &fixture.file()).unwrap_err();
    assert!(matches!(running, BackupError::Running { .. }), "{running}");
    let none = back_up(&fixture.directory().join("none.db"), &backup).unwrap_err();
    assert!(matches!(none, BackupError::NoDatabase { .. }), "{none}");
    drop(store);
}

#[tokio::test]
async fn a_damaged_or_foreign_backup_is_refused_before_anything_is_replaced() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let id = fixture.submit(&store).await;
    let backup = fixture.directory().join("backup.db");
    back_up(&fixture.file(), &backup).unwrap();
    store.close().await;
    let mut bytes = fs::read(&backup).unwrap();
    bytes[4096..].fill(0x5a);
    fs::write(&backup, bytes).unwrap();
    let damaged = restore(&backup, &fixture.file()).unwrap_err();
    assert!(matches!(damaged, BackupError::Damaged { .. }), "{damaged:?}");
    let foreign = fixture.directory().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let refused = restore(&foreign, &fixture.file()).unwrap_err();
    assert!(matches!(refused, BackupError::Unusable(_)), "{refused:?}");
    assert!(fixture.open().job(&fixture.tenant, id).await.unwrap().is_some());
}
