//! What a server can do to a list and to a watch, as a script of its answers: a real one cannot be made to stop in the
//! middle of an object, or to forget versions when it is asked to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request as HttpRequest, Response};
use http_body_util::Full;
use kube::client::Body;
use serde_json::{Value, json};
use tower::{BoxError, service_fn};
use vmafx_api::VmafxNode;

use super::*;

/// Answers, each with its code, in their order; and what was asked for.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<(u16, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Script {
    fn of(answers: &[(u16, String)]) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.iter().cloned().collect())), ..Self::default() }
    }

    fn source(&self) -> ListWatch<VmafxNode> {
        let script = self.clone();
        let server = service_fn(move |request: HttpRequest<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let version = query.split('&').find(|part| part.starts_with("resourceVersion="));
            let what = if query.contains("watch=true") { "watch" } else { "list" };
            let asked = format!("{what} {}", version.unwrap_or_default());
            script.asked.lock().unwrap().push(asked.trim_end().to_owned());
            let (code, text) = script.answers.lock().unwrap().pop_front().expect("an answer");
            let answer = Response::builder().status(code).body(Full::new(Bytes::from(text))).unwrap();
            futures::future::ready(Ok::<_, BoxError>(answer))
        });
        ListWatch::new(Client::new(server, "default"), None)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn node(name: &str, version: &str) -> Value {
    json!({ "metadata": { "name": name, "resourceVersion": version }, "spec": { "gpuVendor": "cpu" } })
}

fn list(names: &[&str], version: &str) -> (u16, String) {
    let items: Vec<_> = names.iter().map(|name| node(name, "1")).collect();
    (200, json!({ "items": items, "metadata": { "resourceVersion": version } }).to_string())
}

fn watch(events: &[Value]) -> (u16, String) {
    // The type first, as the server writes it.
    let line = |event: &Value| format!("{{\"type\":{},\"object\":{}}}\n", event["type"], event["object"]);
    (200, events.iter().map(line).collect())
}

fn event(type_: &str, object: &Value) -> Value {
    json!({ "type": type_, "object": object })
}

fn refused(code: u16) -> (u16, String) {
    (
        code,
        json!({ "kind": "Status", "status": "Failure", "message": "no", "reason": "R", "code": code })
            .to_string(),
    )
}

/// What is told, in short, for so many steps.
async fn told(source: &mut ListWatch<VmafxNode>, steps: usize) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..steps {
        let name = |object: &RawObject<VmafxNode>| object.identity().key.name;
        all.push(match source.next().await {
            Ok(Event::Init) => "begin".to_owned(),
            Ok(Event::InitApply(object)) => format!("has {}", name(&object)),
            Ok(Event::InitDone) => "all".to_owned(),
            Ok(Event::Apply(object)) => format!("new {}", name(&object)),
            Ok(Event::Delete(object)) => format!("gone {}", name(&object)),
            Err(Error::InitialListFailed(_)) => "no list".to_owned(),
            Err(Error::WatchStartFailed(_)) => "no watch".to_owned(),
            Err(Error::WatchError(status)) => format!("told {}", status.code),
            Err(Error::WatchFailed(_)) => "broken".to_owned(),
            Err(Error::NoResourceVersion) => "no version".to_owned(),
        });
    }
    all
}

#[tokio::test]
async fn changes_are_followed_from_the_list_on_and_taken_up_where_a_watch_ended() {
    let mark =
        json!({ "kind": "VmafxNode", "apiVersion": "vmafx.dev/v1", "metadata": { "resourceVersion": "9" } });
    let script = Script::of(&[
        list(&["a", "b"], "5"),
        watch(&[event("ADDED", &node("c", "6")), event("DELETED", &node("a", "7"))]),
        watch(&[event("BOOKMARK", &mark)]),
        watch(&[event("MODIFIED", &node("b", "10"))]),
    ]);
    let told = told(&mut script.source(), 7).await;
    assert_eq!(told, ["begin", "has a", "has b", "all", "new c", "gone a", "new b"]);
    let asked = ["list", "watch resourceVersion=5", "watch resourceVersion=7", "watch resourceVersion=9"];
    assert_eq!(script.asked(), asked);
}

#[tokio::test]
async fn a_list_that_breaks_off_is_none_and_another_is_asked_for() {
    let (code, whole) = list(&["a", "b"], "5");
    for kept in [whole.find(r#""b""#).unwrap(), whole.find("],").unwrap(), whole.len() - 1] {
        let script = Script::of(&[(code, whole[..kept].to_owned()), list(&["c"], "6")]);
        let mut source = script.source();
        let mut first = told(&mut source, 2).await;
        while first.last().is_some_and(|last| last.starts_with("has")) {
            first.extend(told(&mut source, 1).await);
        }
        assert_eq!(first.last().unwrap(), "no list", "{first:?}");
        assert_eq!(told(&mut source, 3).await, ["begin", "has c", "all"]);
    }
}

#[tokio::test]
async fn a_list_without_a_version_or_without_an_answer_is_none() {
    let script = Script::of(&[list(&[], ""), refused(503), list(&[], "6")]);
    let told = told(&mut script.source(), 5).await;
    assert_eq!(told, ["begin", "no version", "no list", "begin", "all"]);
}

#[tokio::test]
async fn a_version_that_is_no_longer_known_means_another_list() {
    let gone =
        json!({ "kind": "Status", "status": "Failure", "message": "old", "reason": "Expired", "code": 410 });
    let script = Script::of(&[
        list(&[], "5"),
        watch(&[event("ERROR", &gone)]),
        list(&[], "6"),
        refused(410),
        list(&["a"], "7"),
    ]);
    let told = told(&mut script.source(), 9).await;
    assert_eq!(told, ["begin", "all", "told 410", "begin", "all", "told 410", "begin", "has a", "all"]);
}

#[tokio::test]
async fn any_other_refusal_leaves_what_is_known() {
    let fault = json!({ "kind": "Status", "status": "Failure", "message": "m", "reason": "R", "code": 500 });
    let script = Script::of(&[
        list(&[], "5"),
        refused(503),
        watch(&[event("ERROR", &fault), event("ADDED", &node("a", "6")), event("ADDED", &node("b", ""))]),
        list(&["b"], "7"),
    ]);
    let told = told(&mut script.source(), 9).await;
    let expected = ["begin", "all", "no watch", "told 500", "new a", "no version", "begin", "has b", "all"];
    assert_eq!(told, expected);
    assert_eq!(script.asked()[1..3], ["watch resourceVersion=5", "watch resourceVersion=5"]);
}

#[tokio::test]
async fn a_watch_that_ends_without_a_word_is_said_and_asked_for_again() {
    let script = Script::of(&[list(&[], "5"), watch(&[]), watch(&[event("ADDED", &node("a", "6"))])]);
    assert_eq!(told(&mut script.source(), 4).await, ["begin", "all", "broken", "new a"]);
    assert_eq!(script.asked()[1..], ["watch resourceVersion=5", "watch resourceVersion=5"]);
}
