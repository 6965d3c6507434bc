//! Scripted answers of an API server to lists and watches: a real one cannot be made to stop in the middle of an object,
//! or to forget resource versions on request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request as HttpRequest, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::client::Body;
use serde_json::{Value, json};
use tower::{BoxError, service_fn};
use vmafx_api::VmafxNode;

use super::*;

#[derive(Clone)]
struct Answer {
    code: u16,
    text: String,
    /// The answer has no end.
    open: bool,
}

/// The answers in their order, and a record of the requests.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Script {
    fn of(answers: &[Answer]) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.iter().cloned().collect())), ..Self::default() }
    }

    fn list_watch(&self) -> ListWatch<VmafxNode> {
        let script = self.clone();
        let server = service_fn(move |request: HttpRequest<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let parameter =
                |name: &str| query.split('&').find(|part| part.starts_with(name)).unwrap_or_default();
            let request = match parameter("watch=") {
                "" => format!("list {}", parameter("limit=")),
                _ => format!("watch {}", parameter("resourceVersion=")),
            };
            script.requests.lock().unwrap().push(request.trim_end().to_owned());
            let Answer { code, text, open } =
                script.answers.lock().unwrap().pop_front().expect("a scripted answer");
            // Chunks that end anywhere.
            let chunks: Vec<_> = text.as_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
            let chunks = stream::iter(chunks).map(|chunk| Ok::<_, BoxError>(Frame::data(chunk)));
            let end = if open { stream::pending().boxed() } else { stream::empty().boxed() };
            let answer = Response::builder().status(code).body(StreamBody::new(chunks.chain(end))).unwrap();
            futures::future::ready(Ok::<_, BoxError>(answer))
        });
        ListWatch::new(Client::new(server, "default"), None)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn node(name: &str, version: &str) -> Value {
    json!({ "metadata": { "name": name, "resourceVersion": version }, "spec": { "gpuVendor": "cpu" } })
}

fn list(names: &[&str], version: &str) -> Answer {
    let items: Vec<_> = names.iter().map(|name| node(name, "1")).collect();
    let metadata = json!({ "resourceVersion": version, "continue": "" });
    let list = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNodeList", "items": items, "metadata": metadata });
    Answer { code: 200, text: list.to_string(), open: false }
}

fn watch(events: &[Value]) -> Answer {
    // The type comes first, as the API server writes it.
    let line = |event: &Value| format!("{{\"type\":{},\"object\":{}}}\n", event["type"], event["object"]);
    Answer { code: 200, text: events.iter().map(line).collect(), open: false }
}

fn event(type_: &str, object: &Value) -> Value {
    json!({ "type": type_, "object": object })
}

fn refused(code: u16) -> Answer {
    let status =
        json!({ "kind": "Status", "status": "Failure", "message": "no", "reason": "R", "code": code });
    Answer { code, text: status.to_string(), open: false }
}

/// The next events, in short.
async fn events(list_watch: &mut ListWatch<VmafxNode>, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..count {
        let name = |object: &RawObject<VmafxNode>| object.identity().key.name;
        all.push(match list_watch.next().await {
            Ok(Event::Init) => "init".to_owned(),
            Ok(Event::InitApply(object)) => format!("listed {}", name(&object)),
            Ok(Event::InitDone) => "init done".to_owned(),
            Ok(Event::Apply(object)) => format!("applied {}", name(&object)),
            Ok(Event::Delete(object)) => format!("deleted {}", name(&object)),
            Err(Error::InitialListFailed(_)) => "list failed".to_owned(),
            Err(Error::WatchStartFailed(_)) => "watch refused".to_owned(),
            Err(Error::WatchError(status)) => format!("error {}", status.code),
            Err(Error::WatchFailed(_)) => "watch failed".to_owned(),
            Err(Error::NoResourceVersion) => "no version".to_owned(),
        });
    }
    all
}

#[tokio::test]
async fn changes_are_watched_from_the_list_on_and_resumed_where_a_watch_ended() {
    let mark =
        json!({ "kind": "VmafxNode", "apiVersion": "vmafx.dev/v1", "metadata": { "resourceVersion": "9" } });
    let script = Script::of(&[
        list(&["a", "b"], "5"),
        watch(&[event("ADDED", &node("c", "6")), event("DELETED", &node("a", "7"))]),
        watch(&[event("BOOKMARK", &mark)]),
        watch(&[event("MODIFIED", &node("b", "10"))]),
    ]);
    let events = events(&mut script.list_watch(), 7).await;
    assert_eq!(events, ["init", "listed a", "listed b", "init done", "applied c", "deleted a", "applied b"]);
    let requests = ["list", "watch resourceVersion=5", "watch resourceVersion=7", "watch resourceVersion=9"];
    assert_eq!(script.requests(), requests);
}

#[tokio::test]
async fn a_list_that_is_cut_off_fails_and_is_requested_again() {
    let whole = list(&["a", "b"], "5");
    let text = &whole.text;
    for kept in [0, text.find(r#""b""#).unwrap(), text.find("resourceVersion\":\"5").unwrap(), text.len() - 1]
    {
        let cut = Answer { text: text[..kept].to_owned(), ..whole.clone() };
        let script = Script::of(&[cut, list(&["c"], "6")]);
        let mut list_watch = script.list_watch();
        let mut first = events(&mut list_watch, 2).await;
        while first.last().is_some_and(|last| last.starts_with("listed")) {
            first.extend(events(&mut list_watch, 1).await);
        }
        assert_eq!(first.last().unwrap(), "list failed", "{first:?}");
        assert_eq!(events(&mut list_watch, 3).await, ["init", "listed c", "init done"]);
    }
}

#[tokio::test]
async fn the_version_of_a_list_may_stand_before_its_objects_and_no_objects_may_be_null() {
    let begin = r#"{"kind":"VmafxNodeList","metadata":{"resourceVersion":"5"},"items":"#;
    for (items, listed) in [(json!([node("a", "1")]), Some("listed a")), (json!(null), None)] {
        let script = Script::of(&[Answer { code: 200, text: format!("{begin}{items}}}"), open: false }]);
        let expected: Vec<_> = ["init"].into_iter().chain(listed).chain(["init done"]).collect();
        assert_eq!(events(&mut script.list_watch(), expected.len()).await, expected);
    }
}

#[tokio::test]
async fn a_list_is_complete_with_its_last_character() {
    let script = Script::of(&[Answer { open: true, ..list(&["a"], "5") }]);
    assert_eq!(events(&mut script.list_watch(), 3).await, ["init", "listed a", "init done"]);
}

#[tokio::test]
async fn what_is_not_a_list_fails() {
    for text in ["", "no JSON", "[]", r#"{"items":[]}"#, r#"{"items":{},"metadata":{}}"#] {
        let script = Script::of(&[Answer { code: 200, text: text.to_owned(), open: false }]);
        assert_eq!(events(&mut script.list_watch(), 2).await, ["init", "list failed"], "{text}");
    }
}

#[tokio::test]
async fn a_list_that_is_longer_than_its_channels_is_complete() {
    let names: Vec<_> = (0..2000).map(|number| format!("n{number}")).collect();
    let script = Script::of(&[list(&names.iter().map(String::as_str).collect::<Vec<_>>(), "5")]);
    let events = events(&mut script.list_watch(), names.len() + 2).await;
    let listed = names.iter().map(|name| format!("listed {name}"));
    let expected: Vec<_> =
        ["init".to_owned()].into_iter().chain(listed).chain(["init done".to_owned()]).collect();
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_list_without_a_version_or_without_an_answer_fails() {
    let script = Script::of(&[list(&[], ""), refused(503), list(&[], "6")]);
    let events = events(&mut script.list_watch(), 5).await;
    assert_eq!(events, ["init", "no version", "list failed", "init", "init done"]);
}

#[tokio::test]
async fn a_version_that_is_gone_means_another_list() {
    let gone =
        json!({ "kind": "Status", "status": "Failure", "message": "old", "reason": "Expired", "code": 410 });
    let script = Script::of(&[
        list(&[], "5"),
        watch(&[event("ERROR", &gone)]),
        list(&[], "6"),
        refused(410),
        list(&["a"], "7"),
    ]);
    let events = events(&mut script.list_watch(), 9).await;
    assert_eq!(
        events,
        ["init", "init done", "error 410", "init", "init done", "error 410", "init", "listed a", "init done"]
    );
}

#[tokio::test]
async fn any_other_error_does_not_list_again() {
    let fault = json!({ "kind": "Status", "status": "Failure", "message": "m", "reason": "R", "code": 500 });
    let script = Script::of(&[
        list(&[], "5"),
        refused(503),
        watch(&[event("ERROR", &fault), event("ADDED", &node("a", "6")), event("ADDED", &node("b", ""))]),
        list(&["b"], "7"),
    ]);
    let events = events(&mut script.list_watch(), 9).await;
    let expected = [
        "init",
        "init done",
        "watch refused",
        "error 500",
        "applied a",
        "no version",
        "init",
        "listed b",
        "init done",
    ];
    assert_eq!(events, expected);
    assert_eq!(script.requests()[1..3], ["watch resourceVersion=5", "watch resourceVersion=5"]);
}

#[tokio::test]
async fn a_watch_that_ends_without_an_event_is_an_error_and_opened_again() {
    let script = Script::of(&[list(&[], "5"), watch(&[]), watch(&[event("ADDED", &node("a", "6"))])]);
    assert_eq!(events(&mut script.list_watch(), 4).await, ["init", "init done", "watch failed", "applied a"]);
    assert_eq!(script.requests()[1..], ["watch resourceVersion=5", "watch resourceVersion=5"]);
}
