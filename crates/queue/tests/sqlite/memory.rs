//! State that is kept in memory.

use std::fs;

use vmafx_queue::Store as _;
use vmafx_queue::job::Progress;
use vmafx_queue::node::Heartbeat;

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
