//! What is kept in memory.

use std::fs;

use vmafx_queue::Store as _;
use vmafx_queue::job::Progress;
use vmafx_queue::node::Beat;
use vmafx_queue::store::{Filter, Page};

use crate::help::Place;

#[tokio::test]
async fn a_heartbeat_writes_nothing() {
    let place = Place::new();
    let store = place.open();
    let node = place.register(&store).await;
    place.submit(&store).await;
    let job = place.claim(&store, &node).await.unwrap();
    let log = place.directory().join("queue.db-wal");
    let before = fs::metadata(&log).unwrap();
    for done in 0..200 {
        let progress = vec![(job.id, job.attempt, Progress { done, total: 200 })];
        let beat = Beat { running: vec![job.id], progress };
        assert!(store.heartbeat(&place.tenant, &node, beat).await.unwrap().is_some());
    }
    let after = fs::metadata(&log).unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (before.len(), before.modified().unwrap()));
}

#[tokio::test]
async fn progress_is_seen_by_every_reader_and_is_no_change() {
    let place = Place::new();
    let store = place.open();
    let node = place.register(&store).await;
    let begin = store.position(&place.tenant).await.unwrap();
    place.submit(&store).await;
    let job = place.claim(&store, &node).await.unwrap();
    let position = store.position(&place.tenant).await.unwrap();

    let progress = Progress { done: 7, total: 10 };
    let beat = Beat { running: vec![job.id], progress: vec![(job.id, job.attempt, progress)] };
    store.heartbeat(&place.tenant, &node, beat).await.unwrap();

    assert_eq!(store.position(&place.tenant).await.unwrap(), position);
    let read = store.job(&place.tenant, job.id).await.unwrap().unwrap();
    assert_eq!((read.progress, read.revision), (Some(progress), job.revision));
    let page = Page { after: None, limit: 10, newest_first: false };
    let listed = store.jobs(&place.tenant, &Filter::default(), &page).await.unwrap();
    assert_eq!(listed[0].progress, Some(progress));
    let changed = store.changes(&place.tenant, &begin, 10).await.unwrap();
    assert_eq!(changed.jobs[0].1.progress, Some(progress));
    assert_eq!(store.explain(&place.tenant, job.id).await.unwrap().unwrap().job.progress, Some(progress));
}
