//! An API server in memory that stores one lease.

use std::future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::client::Body;
use serde_json::json;
use tower::{BoxError, service_fn};

/// How it answers requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Behavior {
    #[default]
    Answers,
    AnswersAfter(Duration),
    Fails,
    Hangs,
    /// Hangs once, then answers.
    HangsOnce,
    /// Writes without an answer once, then answers.
    WritesAndHangsOnce,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Store(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    lease: Option<Lease>,
    version: u32,
    behavior: Behavior,
    refused: usize,
}

type Answer = Result<Response<Full<bytes::Bytes>>, BoxError>;

impl Store {
    pub(super) fn client(&self) -> kube::Client {
        let store = self.clone();
        kube::Client::new(service_fn(move |request| store.clone().answer(request)), "ns")
    }

    pub(super) fn set(&self, behavior: Behavior) {
        self.0.lock().unwrap().behavior = behavior;
    }

    pub(super) fn spec(&self) -> LeaseSpec {
        self.0.lock().unwrap().lease.clone().unwrap().spec.unwrap()
    }

    /// Another client edits the record.
    pub(super) fn hand_to(&self, holder: &str) {
        let mut state = self.0.lock().unwrap();
        state.version += 1;
        let version = state.version.to_string();
        let lease = state.lease.as_mut().unwrap();
        lease.metadata.resource_version = Some(version);
        lease.spec.as_mut().unwrap().holder_identity = Some(holder.to_owned());
    }

    /// Number of failed writes.
    pub(super) fn writes_refused(&self) -> usize {
        self.0.lock().unwrap().refused
    }

    async fn answer(self, request: Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let write = parts.method != Method::GET;
        let behavior = self.0.lock().unwrap().behavior;
        match behavior {
            Behavior::AnswersAfter(pause) => tokio::time::sleep(pause).await,
            Behavior::Fails => {
                self.0.lock().unwrap().refused += usize::from(write);
                return status(500, "InternalError");
            }
            Behavior::Hangs => return future::pending().await,
            Behavior::HangsOnce => {
                self.set(Behavior::Answers);
                return future::pending().await;
            }
            Behavior::WritesAndHangsOnce if write => {
                self.set(Behavior::Answers);
                drop(self.0.lock().unwrap().apply(&parts.method, &body)?);
                return future::pending().await;
            }
            Behavior::Answers | Behavior::WritesAndHangsOnce => {}
        }
        self.0.lock().unwrap().apply(&parts.method, &body)
    }
}

impl State {
    fn apply(&mut self, method: &Method, body: &[u8]) -> Answer {
        let stored = match (method, &self.lease) {
            (&Method::GET, Some(lease)) => lease.clone(),
            (_, None) if *method != Method::POST => return status(404, "NotFound"),
            (&Method::POST, Some(_)) => return status(409, "AlreadyExists"),
            (_, stored) => {
                let mut new: Lease = serde_json::from_slice(body)?;
                let version = |lease: &Lease| lease.metadata.resource_version.clone();
                if stored.as_ref().is_some_and(|stored| version(stored) != version(&new)) {
                    return status(409, "Conflict");
                }
                self.version += 1;
                new.metadata.resource_version = Some(self.version.to_string());
                self.lease.insert(new).clone()
            }
        };
        Ok(Response::new(Full::from(serde_json::to_vec(&stored)?)))
    }
}

fn status(code: u16, reason: &str) -> Answer {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": reason});
    Ok(Response::builder().status(code).body(Full::from(body.to_string()))?)
}
