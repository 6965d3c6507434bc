//! Changes as server-sent events.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::controller::{ALL, Controller, WRITER};
use crate::http::Http;
use crate::node::TestNode;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A client of the event stream.
struct Events {
    response: reqwest::Response,
    text: String,
    ready: VecDeque<Event>,
}

#[derive(Debug, Default)]
struct Event {
    name: String,
    id: Option<String>,
    data: Value,
}

impl Events {
    async fn open(http: &Http, query: &str, last: Option<&str>) -> Self {
        let mut request = http.request("GET", &format!("/v1/events{query}")).timeout(Duration::from_mins(2));
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new(), ready: VecDeque::new() }
    }

    async fn next(&mut self) -> Event {
        while self.ready.is_empty() {
            let chunk = timeout(TIMEOUT, self.response.chunk()).await.expect("an event").unwrap();
            self.text.push_str(std::str::from_utf8(&chunk.expect("the stream ended")).unwrap());
            while let Some(end) = self.text.find("\n\n") {
                self.ready.push_back(event(&self.text[..end]));
                self.text.drain(..end + 2);
            }
        }
        self.ready.pop_front().unwrap()
    }

    /// The status of the next change of a job, and its cursor.
    async fn status_of(&mut self, id: &str) -> (String, String) {
        loop {
            let event = self.next().await;
            if event.name == "job" && event.data["id"] == id {
                return (event.data["status"].as_str().unwrap().to_owned(), event.id.unwrap_or_default());
            }
        }
    }
}

fn event(block: &str) -> Event {
    let mut event = Event::default();
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("event", name)) => name.clone_into(&mut event.name),
            Some(("id", id)) => event.id = Some(id.to_owned()),
            Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
            other => panic!("{other:?} in {block}"),
        }
    }
    event
}

async fn submit(http: &Http) -> String {
    let clips = json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" });
    let submitted = http.post("/v1/jobs", &json!({ "scoring": clips })).await.expect(201);
    submitted["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_stream_starts_with_a_snapshot_and_continues_with_changes() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let before = submit(&http).await;
    let mut events = Events::open(&http, "", None).await;
    let first = events.next().await;
    assert_eq!((first.name.as_str(), first.id, &first.data["id"]), ("job", None, &json!(before)));
    let bookmark = events.next().await;
    assert_eq!((bookmark.name.as_str(), bookmark.id.is_some()), ("bookmark", true));

    let after = submit(&http).await;
    assert_eq!(events.status_of(&after).await.0, "pending");
    http.post(&format!("/v1/jobs/{after}/cancel"), &json!({})).await.expect(200);
    assert_eq!(events.status_of(&after).await.0, "cancelled");
}

#[tokio::test]
async fn a_client_that_reconnects_misses_nothing_even_after_a_restart() {
    let mut controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let id = submit(&http).await;
    let mut events = Events::open(&http, "", None).await;
    events.next().await;
    let bookmark = events.next().await.id.unwrap();
    drop(events);

    let node = TestNode::register(controller.client(ALL)).await;
    let job = node.pull().await.unwrap();
    node.complete(&job, 42.0).await;
    controller.kill().unwrap();
    controller.restart().await.unwrap();

    let mut events = Events::open(&http, "", Some(&bookmark)).await;
    let change = events.next().await;
    assert_eq!((&change.data["id"], &change.data["score"]), (&json!(id), &json!(42.0)), "no snapshot again");
    // The cursor may also be in the query, for clients that cannot set headers.
    let mut events = Events::open(&http, &format!("?cursor={bookmark}&status=completed"), None).await;
    assert_eq!(events.status_of(&id).await.0, "completed");
}

#[tokio::test]
async fn a_filter_holds_for_the_stream_too() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let mut events = Events::open(&http, "?status=cancelled", None).await;
    assert_eq!(events.next().await.name, "bookmark");
    submit(&http).await;
    let cancelled = submit(&http).await;
    http.post(&format!("/v1/jobs/{cancelled}/cancel"), &json!({})).await.expect(200);
    let first = events.next().await;
    assert_eq!(first.data["id"], cancelled, "{first:?}");
}

#[tokio::test]
async fn a_cursor_of_another_store_is_gone_and_one_stream_too_many_is_refused() {
    let controller = Controller::start(&[("VMAFX_MAX_STREAMS", "1")]).await;
    let http = controller.http_with(WRITER);
    http.get("/v1/events?cursor=nonsense").await.refused(410);
    let _open = Events::open(&http, "", None).await;
    http.get("/v1/events").await.refused(429);
}
