//! Requests without faults, and how they are recorded.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use vmafx_testkit::kube::proxy::{RbacVerb, count_by_resource};

use crate::ProxyFixture;

#[tokio::test]
async fn every_request_is_recorded_with_its_response() {
    let fixture = ProxyFixture::start().await;
    let maps = fixture.maps();
    fixture.create("a").await.unwrap();
    let change = Patch::Merge(json!({"data": {"key": "value"}}));
    maps.patch("a", &PatchParams::default(), &change).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["key"], "value");
    maps.get_opt("b").await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();

    let records = fixture.proxy.records();
    let recorded: Vec<_> = records
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
        assert_eq!(recorded[index], (index, request.to_owned(), Some(code), Some(code)));
    }
    assert_eq!(recorded.len(), expected.len());
    assert_eq!(records[1].request.json(), json!({"data": {"key": "value"}}));
    assert_eq!(records[1].request.namespace, fixture.namespace.name());
}

#[tokio::test]
async fn writes_are_counted_by_resource() {
    let fixture = ProxyFixture::start().await;
    fixture.create("a").await.unwrap();
    let count = fixture.proxy.request_count();
    fixture.create("b").await.unwrap();
    fixture.create("c").await.unwrap();
    fixture.maps().get("c").await.unwrap();
    let writes = fixture.proxy.writes_since(count);
    assert!(writes.iter().all(|record| record.request.verb == RbacVerb::Create && record.succeeded()));
    assert_eq!(count_by_resource(&writes)["configmaps"], 2);
    assert_eq!(fixture.proxy.writes().len(), 3);
}

#[tokio::test]
async fn a_dropped_proxy_answers_nobody() {
    let fixture = ProxyFixture::start().await;
    let maps = fixture.maps();
    maps.get_opt("a").await.unwrap();
    drop(fixture.proxy);
    // The aborted task ends when it is next scheduled.
    tokio::task::yield_now().await;
    assert!(maps.get_opt("a").await.is_err());
}
