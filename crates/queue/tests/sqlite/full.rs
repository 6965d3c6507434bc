//! A volume that is full: new jobs are refused, finished ones are stored, and everything goes on when there is room.
//!
//! The test runs itself again in a mount namespace of its own, on a small file system in memory.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use vmafx_job::CancelCause;
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{Options, SqliteStore};
use vmafx_queue::store::Reported;
use vmafx_queue::{Store as _, StoreError};
use vmafx_testkit::wait;

use crate::fixture::{Fixture, RESERVE, job};

/// The small volume, for the test that runs within the namespace.
const VOLUME: &str = "VMAFX_TEST_SMALL_VOLUME";

#[test]
fn on_a_full_volume_jobs_are_refused_and_their_ends_are_stored() {
    let volume = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=24m tmpfs "$1" && exec "$0" --exact full::on_a_small_volume --ignored --nocapture"#;
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(volume.path())
        .env(VOLUME, volume.path())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

/// Takes all the room that is left.
fn fill(volume: &Path) -> PathBuf {
    let path = volume.join("ballast");
    let mut file = File::create(&path).unwrap();
    for size in [64 << 10, 1 << 10, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
    path
}

fn open(fixture: &Fixture, volume: &Path) -> SqliteStore {
    let clock = Arc::new(fixture.clock.clone());
    let path = volume.join("queue.db");
    SqliteStore::open(Options { path, policy: Policy::default(), clock, reserve: RESERVE }).unwrap()
}

/// Submits until the store refuses.
async fn submit_until_refused(fixture: &Fixture, store: &SqliteStore) -> StoreError {
    for _ in 0..20_000 {
        if let Err(error) = store.submit(&fixture.tenant, job()).await {
            return error;
        }
    }
    panic!("the volume does not become full");
}

#[tokio::test]
#[ignore = "runs on a small volume, started by the test above"]
async fn on_a_small_volume() {
    let volume = PathBuf::from(std::env::var_os(VOLUME).unwrap());
    let fixture = Fixture::new();
    let store = open(&fixture, &volume);
    let node = fixture.register(&store).await;
    fixture.submit(&store).await;
    let waiting = fixture.submit(&store).await;
    let running = fixture.claim(&store, &node).await.unwrap();
    store.close().await;
    drop(store);
    let ballast = fill(&volume);

    // Only the reserve is left, and the controller starts.
    let store = open(&fixture, &volume);
    assert!(store.is_full());
    store.ready().await.unwrap();
    let refused = store.submit(&fixture.tenant, job()).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Full { .. }), "{refused:?}");
    assert!(refused.to_string().starts_with("the store is full: free space on its volume"), "{refused}");
    assert_eq!(fixture.claim(&store, &node).await, None, "no new work is begun");
    assert!(matches!(fixture.complete(&store, &node, &running).await, Reported::Moved { .. }));
    let cancelled =
        store.cancel(&fixture.tenant, waiting, CancelCause::Requested, "").await.unwrap().unwrap();
    assert!(cancelled.moved);
    store.sweep().await.unwrap();

    fs::remove_file(&ballast).unwrap();
    let accepted = async || store.submit(&fixture.tenant, job()).await.is_ok();
    wait::until(Duration::from_secs(30), "the store to go on", accepted).await.unwrap();
    assert!(!store.is_full());
    let running = fixture.claim(&store, &node).await.unwrap();

    // The volume becomes full while the controller runs.
    fill(&volume);
    let refused = submit_until_refused(&fixture, &store).await;
    assert!(matches!(&refused, StoreError::Full { .. }), "{refused:?}");
    assert!(store.is_full());
    assert!(matches!(fixture.complete(&store, &node, &running).await, Reported::Moved { .. }));
}
