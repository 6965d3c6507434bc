//! Watches through the proxy.

use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{WatchEvent, WatchParams};

use crate::{ProxyFixture, SOON, create};

const EVENT_TIME: Duration = Duration::from_millis(300);

type Events = Result<WatchEvent<ConfigMap>, kube::Error>;

async fn next(events: &mut (impl Stream<Item = Events> + Unpin)) -> Option<String> {
    loop {
        match tokio::time::timeout(SOON, events.next()).await.unwrap()? {
            Ok(WatchEvent::Bookmark(_)) => {}
            Ok(WatchEvent::Added(map)) => return Some(map.name_any()),
            other => return Some(format!("{other:?}")),
        }
    }
}

#[tokio::test]
async fn events_arrive_as_they_happen() {
    let fixture = ProxyFixture::start().await;
    let maps = fixture.maps();
    let mut events = pin!(maps.watch(&WatchParams::default().timeout(60), "0").await.unwrap());
    for name in ["a", "b"] {
        create(&fixture.direct(), name).await.unwrap();
        assert_eq!(next(&mut events).await.as_deref(), Some(name));
    }
}

#[tokio::test]
async fn a_closed_watch_ends_and_a_new_one_starts() {
    let fixture = ProxyFixture::start().await;
    let maps = fixture.maps();
    let params = WatchParams::default().timeout(60);
    let mut events = pin!(maps.watch(&params, "0").await.unwrap());
    create(&fixture.direct(), "a").await.unwrap();
    assert_eq!(next(&mut events).await.as_deref(), Some("a"));
    fixture.proxy.close_watches();
    let last = next(&mut events).await;
    assert!(last.as_ref().is_none_or(|last| last.starts_with("Err(")), "{last:?}");
    let mut events = pin!(maps.watch(&params, "0").await.unwrap());
    assert_eq!(next(&mut events).await.as_deref(), Some("a"));
}

#[tokio::test]
async fn events_of_a_held_resource_wait() {
    let fixture = ProxyFixture::start().await;
    let maps = fixture.maps();
    let mut events = pin!(maps.watch(&WatchParams::default().timeout(60), "0").await.unwrap());
    create(&fixture.direct(), "a").await.unwrap();
    assert_eq!(next(&mut events).await.as_deref(), Some("a"));
    let held = fixture.proxy.hold_events("configmaps");
    create(&fixture.direct(), "b").await.unwrap();
    assert!(tokio::time::timeout(EVENT_TIME, events.next()).await.is_err(), "an event came through");
    assert!(maps.get_opt("b").await.unwrap().is_some(), "everything else is forwarded");
    drop(held);
    assert_eq!(next(&mut events).await.as_deref(), Some("b"));
}
