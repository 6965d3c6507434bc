//! What passes the proxy untouched, and what is written down of it.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use vmafx_testkit::kube::proxy::{Verb, count_by_resource};

use crate::Stage;

#[tokio::test]
async fn every_request_is_written_down_with_its_answer() {
    let stage = Stage::set().await;
    let maps = stage.maps();
    stage.create("a").await.unwrap();
    let change = Patch::Merge(json!({"data": {"key": "value"}}));
    maps.patch("a", &PatchParams::default(), &change).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["key"], "value");
    maps.get_opt("b").await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();

    let records = stage.proxy.records();
    let said: Vec<_> = records
        .iter()
        .map(|record| (record.order, record.request.to_string(), record.server, record.client))
        .collect();
    let expected = [
        ("create configmaps/a", 201),
        ("patch configmaps/a", 200),
        ("get configmaps/a", 200),
        ("get configmaps/b", 404),
        ("delete configmaps/a", 200),
    ];
    for (index, (request, code)) in expected.into_iter().enumerate() {
        assert_eq!(said[index], (index, request.to_owned(), Some(code), Some(code)));
    }
    assert_eq!(said.len(), expected.len());
    assert_eq!(records[1].request.json(), json!({"data": {"key": "value"}}));
    assert_eq!(records[1].request.namespace, stage.namespace.name());
}

#[tokio::test]
async fn writes_are_counted_by_resource() {
    let stage = Stage::set().await;
    stage.create("a").await.unwrap();
    let mark = stage.proxy.mark();
    stage.create("b").await.unwrap();
    stage.create("c").await.unwrap();
    stage.maps().get("c").await.unwrap();
    let writes = stage.proxy.writes_since(mark);
    assert!(writes.iter().all(|record| record.request.verb == Verb::Create && record.was_done()));
    assert_eq!(count_by_resource(&writes)["configmaps"], 2);
    assert_eq!(stage.proxy.writes().len(), 3);
}

#[tokio::test]
async fn a_dropped_proxy_answers_nobody() {
    let stage = Stage::set().await;
    let maps = stage.maps();
    maps.get_opt("a").await.unwrap();
    drop(stage.proxy);
    // The task ends at its next turn, not before.
    tokio::task::yield_now().await;
    assert!(maps.get_opt("a").await.is_err());
}
