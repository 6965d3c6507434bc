//! An API server for one StatefulSet, in memory: applies, fences, deletions, and a record of what the operator must not do.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use serde_json::{Value, json};

use crate::objects::{DesiredSet, NAME, NAMESPACE, controller};

/// A change of the StatefulSet by another client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Interference {
    Delete,
    /// A StatefulSet of the same name without owner; compatible if true.
    Create(bool),
    /// The last one of the operator, from a dump, under a new UID.
    ApplyDump,
    StripOwner,
    /// Another controller takes it.
    TakeOver,
    /// Another controller gives it up.
    GiveUp,
    Scale,
    AddFinalizer,
    RemoveFinalizer,
}

impl Interference {
    pub(crate) const ALL: [Self; 10] = [
        Self::Delete,
        Self::Create(true),
        Self::Create(false),
        Self::ApplyDump,
        Self::StripOwner,
        Self::TakeOver,
        Self::GiveUp,
        Self::Scale,
        Self::AddFinalizer,
        Self::RemoveFinalizer,
    ];
}

/// What goes wrong with the requests of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// From this request on nothing is done, and the answer is an error.
    Refused(usize),
    /// From this request on everything is done, and the answer is an error.
    Unanswered(usize),
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) object: Option<Value>,
    /// The last version with the operator's owner reference.
    dump: Option<Value>,
    clock: u64,
    /// The UID that the resource's status records, and the version of that status.
    pub(crate) tracked: Option<String>,
    pub(crate) status_version: u64,
    pub(crate) adopts: bool,
    /// Requests since the pass began.
    pub(crate) requests: usize,
    pub(crate) writes: usize,
    pub(crate) fault: Fault,
    pub(crate) meanwhile: Option<(usize, Interference)>,
    /// The UID of the last StatefulSet that the operator created, until another client changes its owner.
    made: Option<String>,
    /// The desired policy, which cannot be changed in place.
    pub(crate) policy: &'static str,
    /// Whether another client interfered since the operator's last deletion.
    pub(crate) interfered: bool,
    pub(crate) violations: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct Server(Arc<Mutex<State>>);

impl Server {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            object: None,
            dump: None,
            clock: 0,
            tracked: None,
            status_version: 0,
            adopts: false,
            requests: 0,
            writes: 0,
            fault: Fault::None,
            meanwhile: None,
            made: None,
            policy: DesiredSet::default().policy,
            interfered: true,
            violations: Vec::new(),
        })))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let force = parts.uri.query().unwrap_or_default().contains("force=true");
                let (code, answer) = server.state().request(&parts.method, force, &body);
                let answer = Full::from(serde_json::to_vec(&answer).unwrap());
                Ok::<_, Infallible>(Response::builder().status(code).body(answer).unwrap())
            }
        });
        kube::Client::new(service, NAMESPACE)
    }
}

type Answer = (u16, Value);

fn failure(code: u16, field: &str) -> Answer {
    let reason = if code == 404 { "NotFound" } else { "" };
    let details = json!({ "causes": [{ "field": field, "message": "", "reason": "" }] });
    (
        code,
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
                   "reason": reason, "message": format!("{code} {field}"), "details": details }),
    )
}

pub(crate) fn owner_uid(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == json!(true))?["uid"].as_str()
}

impl State {
    /// Counts a request, before which another client may interfere; `false` if the request fails.
    pub(crate) fn receive(&mut self) -> bool {
        self.requests += 1;
        if let Some((_, by)) = self.meanwhile.take_if(|(at, _)| *at == self.requests) {
            self.interfere(by);
        }
        !matches!(self.fault, Fault::Refused(from) if self.requests >= from)
    }

    fn request(&mut self, method: &Method, force: bool, body: &Value) -> Answer {
        if *method != Method::GET {
            self.writes += 1;
        }
        if !self.receive() {
            return failure(500, "");
        }
        let answer = match *method {
            Method::GET => self.object.clone().map_or_else(|| failure(404, ""), |object| (200, object)),
            Method::PATCH => self.apply(force, body),
            _ => self.delete(body),
        };
        match self.fault {
            Fault::Unanswered(from) if self.requests >= from => failure(504, ""),
            _ => answer,
        }
    }

    fn apply(&mut self, force: bool, body: &Value) -> Answer {
        let fence = &body["metadata"];
        let Some(mut object) = self.object.clone() else {
            if fence.get("uid").is_some() {
                return failure(409, "");
            }
            let made = self.store(body.clone(), true);
            self.made = made["metadata"]["uid"].as_str().map(str::to_owned);
            return (201, made);
        };
        if fence.get("uid").is_some_and(|uid| *uid != object["metadata"]["uid"]) {
            return failure(422, "metadata.uid");
        }
        let version = &object["metadata"]["resourceVersion"];
        if fence.get("resourceVersion").is_some_and(|fence| fence != version) {
            return failure(409, "");
        }
        if force {
            self.must_be_ours("applied", &object);
        }
        if !force && object["spec"] != body["spec"] {
            return failure(409, ".spec");
        }
        if owner_uid(&object).is_some_and(|uid| uid != "owner") {
            return failure(422, "metadata.ownerReferences");
        }
        for field in ["selector", "podManagementPolicy", "serviceName"] {
            if object["spec"][field] != body["spec"][field] {
                return failure(422, "spec");
            }
        }
        let before = object.clone();
        object["spec"] = body["spec"].clone();
        object["metadata"]["ownerReferences"] = body["metadata"]["ownerReferences"].clone();
        if let Some(annotations) = body["metadata"].get("annotations") {
            object["metadata"]["annotations"] = annotations.clone();
        }
        if object == before {
            return (200, object);
        }
        (200, self.store(object, false))
    }

    fn delete(&mut self, options: &Value) -> Answer {
        let Some(object) = self.object.clone() else { return failure(404, "") };
        let still = &options["preconditions"];
        for field in ["uid", "resourceVersion"] {
            if still.get(field).is_some_and(|fence| *fence != object["metadata"][field]) {
                return failure(409, "");
            }
        }
        if owner_uid(&object).is_some_and(|uid| uid != "owner") {
            self.violations.push(format!("deleted an object of another controller: {object}"));
        }
        let ours = self.made.as_deref() == object["metadata"]["uid"].as_str();
        if ours && object["spec"]["podManagementPolicy"] == json!(self.policy) {
            self.violations.push(format!("deleted an object that the operator created itself: {object}"));
        }
        if !self.interfered {
            self.violations.push(format!("deleted twice in a row: {object}"));
        }
        self.interfered = false;
        self.end(object);
        (200, json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" }))
    }

    /// An object with a finalizer stays until the finalizer is removed.
    fn end(&mut self, mut object: Value) {
        if object["metadata"].get("finalizers").is_some() {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
            self.store(object, false);
        } else {
            self.object = None;
        }
    }

    fn must_be_ours(&mut self, what: &str, object: &Value) {
        let uid = object["metadata"]["uid"].as_str();
        let handed_over = owner_uid(object).is_none() && self.tracked.as_deref() == uid && !self.adopts;
        if owner_uid(object).is_some_and(|uid| uid != "owner") || handed_over {
            self.violations.push(format!("{what} an object that is not ours: {object}"));
        }
        if object["metadata"].get("deletionTimestamp").is_some() {
            self.violations.push(format!("{what} an object that is being deleted: {object}"));
        }
    }

    fn store(&mut self, mut object: Value, new: bool) -> Value {
        self.clock += 1;
        if new {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.clock));
        }
        object["metadata"]["resourceVersion"] = json!(self.clock.to_string());
        if owner_uid(&object) == Some("owner") {
            self.dump = Some(object.clone());
        }
        self.object = Some(object.clone());
        object
    }

    pub(crate) fn interfere(&mut self, by: Interference) {
        self.interfered = true;
        if matches!(by, Interference::StripOwner | Interference::TakeOver | Interference::GiveUp) {
            self.made = None;
        }
        match (by, self.object.clone()) {
            (Interference::Delete, Some(object)) => self.end(object),
            (Interference::Create(compatible), None) => {
                let mut object = DesiredSet::default().manifest(NAMESPACE);
                object["spec"]["replicas"] = json!(7);
                if !compatible {
                    object["spec"]["selector"] = json!({ "matchLabels": { "app": "theirs" } });
                }
                self.store(object, true);
            }
            (Interference::ApplyDump, None) => {
                if let Some(mut dump) = self.dump.clone() {
                    let metadata = dump["metadata"].as_object_mut().unwrap();
                    metadata.retain(|field, _| field != "deletionTimestamp" && field != "finalizers");
                    self.store(dump, true);
                }
            }
            (Interference::StripOwner, Some(mut object)) => {
                object["metadata"].as_object_mut().unwrap().remove("ownerReferences");
                self.store(object, false);
            }
            (Interference::TakeOver, Some(mut object)) => {
                object["metadata"]["ownerReferences"] = json!([controller("Other", NAME, "another")]);
                self.store(object, false);
            }
            (Interference::GiveUp, Some(object)) if owner_uid(&object) == Some("another") => {
                self.interfere(Interference::StripOwner);
            }
            (Interference::Scale, Some(mut object)) => {
                object["spec"]["replicas"] = json!(9);
                self.store(object, false);
            }
            (Interference::AddFinalizer, Some(mut object))
                if object["metadata"].get("deletionTimestamp").is_none() =>
            {
                object["metadata"]["finalizers"] = json!(["example.com/hold"]);
                self.store(object, false);
            }
            (Interference::RemoveFinalizer, Some(mut object)) => {
                object["metadata"].as_object_mut().unwrap().remove("finalizers");
                if object["metadata"].get("deletionTimestamp").is_some() {
                    self.object = None;
                } else {
                    self.store(object, false);
                }
            }
            _ => {}
        }
    }
}
