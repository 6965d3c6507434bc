//! State that is kept in memory.

use std::fs;

use vmafx_queue::Store as _;
use vmafx_queue::job::Progress;
use vmafx_queue::node::Heartbeat;
use vmafx_queue::store::{Filter, Page};

use crate::fixture::Fixture;

#[tokio::test]
async fn a_heartbeat_writes_nothing() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    fixture.submit(&store).await;
    let job = fixture.claim(&store, &node).await.unwrap();
    let log = fixture.directory().join("queue.db-wal");
    let before = fs::metadata(&log).unwrap();
    for done in 0..200 {
        let progress = vec![(job.id, job.attempt, Progress { done, total: 200 })];
        let heartbeat = Heartbeat { running: vec![job.id], progress };
        assert!(store.heartbeat(&fixture.tenant, &node, heartbeat).await.unwrap().is_some());
    }
    let after = fs::metadata(&log).unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (before.len(), before.modified().unwrap()));
}

#[tokio::test]
async fn progress_is_seen_by_every_reader_and_is_no_change() {
    let fixture = Fixture::new();
    let store = fixture.open();
    let node = fixture.register(&store).await;
    let begin = store.position(&fixture.tenant).await.unwrap();
    fixture.submit(&store).await;
    let job = fixture.claim(&store, &node).await.unwrap();
    let position = store.position(&fixture.tenant).await.unwrap();

    let progress = Progress { done: 7, total: 10 };
    let heartbeat = Heartbeat { running: vec![job.id], progress: vec![(job.id, job.attempt, progress)] };
    store.heartbeat(&fixture.tenant, &node, heartbeat).await.unwrap();

    assert_eq!(store.position(&fixture.tenant).await.unwrap(), position);
    let read = store.job(&fixture.tenant, job.id).await.unwrap().unwrap();
    assert_eq!((read.progress, read.revision), (Some(progress), job.revision));
    let page = Page { after: None, limit: 10, newest_first: false };
    let listed = store.jobs(&fixture.tenant, &Filter::default(), &page).await.unwrap();
    assert_eq!(listed[0].progress, Some(progress));
    let changed = store.changes(&fixture.tenant, &begin, 10).await.unwrap();
    assert_eq!(changed.jobs[0].1.progress, Some(progress));
    assert_eq!(store.explain(&fixture.tenant, job.id).await.unwrap().unwrap().job.progress, Some(progress));
}
