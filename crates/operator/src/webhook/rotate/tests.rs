//! The rotator against an API server that fails some requests.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::authority::clock::SkewedTime;

/// An API server with one Secret and no configuration.
#[derive(Clone, Default)]
struct Server {
    secret: Arc<Mutex<Option<Value>>>,
    down: Arc<AtomicBool>,
    /// Only the Secret can be read and written.
    half: Arc<AtomicBool>,
}

impl Server {
    async fn answer(self, request: Request<Body>) -> Result<Response<Full<Bytes>>, std::io::Error> {
        let is_secret = request.uri().path().contains("/secrets");
        if self.down.load(Ordering::Relaxed) || !is_secret && self.half.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("connection refused"));
        }
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        let mut secret = self.secret.lock().unwrap();
        if parts.method != Method::GET {
            *secret = Some(serde_json::from_slice(&body).unwrap());
        }
        let found = secret.clone().filter(|_| is_secret);
        let (code, answer) = match found {
            Some(secret) => (200, secret),
            None => {
                (404, json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404 }))
            }
        };
        Ok(Response::builder().status(code).body(Full::from(answer.to_string())).unwrap())
    }

    fn client(&self) -> Client {
        let server = self.clone();
        Client::new(tower::service_fn(move |request| server.clone().answer(request)), "ns")
    }
}

/// A rotator, and the hours since the start of its clock.
fn rotator(server: &Server) -> (CertificateRotator, Arc<AtomicI64>) {
    let hours = Arc::new(AtomicI64::new(0));
    let elapsed = Arc::clone(&hours);
    let start: Timestamp = "2026-11-16T06:00:00Z".parse().unwrap();
    let clock = CertificateClock::new(move || SkewedTime {
        time: start + SignedDuration::from_hours(elapsed.load(Ordering::Relaxed)),
        skew: SignedDuration::from_hours(1),
    });
    let names =
        WebhookNames { secret: "ca".into(), configuration: "c".into(), hosts: vec!["localhost".into()] };
    let tls = ServerTls::in_memory(&[]).unwrap();
    (CertificateRotator::new(server.client(), "ns", names, clock, tls), hours)
}

#[tokio::test]
async fn a_certificate_is_renewed_from_memory_while_the_api_server_does_not_answer() {
    let server = Server::default();
    let (mut rotator, hours) = rotator(&server);
    assert_eq!(rotator.refresh().await.unwrap(), BundleState::NoRecipient);
    let first = rotator.certificate().unwrap().validity.not_after;

    server.down.store(true, Ordering::Relaxed);
    hours.store(20 * 24, Ordering::Relaxed);
    let error = rotator.refresh().await.unwrap_err();
    assert!(chain(&error).contains("connection refused"), "{}", chain(&error));
    assert!(rotator.certificate().unwrap().validity.not_after > first);
}

#[tokio::test]
async fn a_new_authority_signs_only_once_the_api_server_has_its_certificate() {
    let server = Server::default();
    let (mut rotator, _) = rotator(&server);
    rotator.refresh().await.unwrap();
    let before = rotator.certificate().unwrap().authority.clone();

    *server.secret.lock().unwrap() = None;
    server.half.store(true, Ordering::Relaxed);
    assert!(rotator.refresh().await.is_err());
    assert_eq!(rotator.certificate().unwrap().authority, before);

    server.half.store(false, Ordering::Relaxed);
    rotator.refresh().await.unwrap();
    assert_ne!(rotator.certificate().unwrap().authority, before);
    assert_eq!(
        rotator.certificate().unwrap().authority,
        rotator.authorities().unwrap().current.certificate.pem
    );
}

#[tokio::test]
async fn without_an_api_server_no_certificate_is_served_and_an_error_is_returned() {
    let server = Server::default();
    server.down.store(true, Ordering::Relaxed);
    let (mut rotator, _) = rotator(&server);
    assert!(rotator.refresh().await.is_err());
    assert!(rotator.certificate().is_none());
}

#[tokio::test]
async fn an_authority_from_the_future_is_replaced() {
    let server = Server::default();
    let (mut rotator, hours) = rotator(&server);
    rotator.refresh().await.unwrap();
    let before = rotator.authorities().unwrap().current.certificate.clone();
    hours.store(-2, Ordering::Relaxed);
    rotator.refresh().await.unwrap();
    let after = &rotator.authorities().unwrap().current.certificate;
    assert!(after.not_before < before.not_before);
    assert_eq!(rotator.certificate().unwrap().authority, after.pem);
}

#[tokio::test(start_paused = true)]
async fn readiness_follows_what_the_api_server_can_trust() {
    use vmafx_kit::health::Readiness;

    let server = Server::default();
    server.down.store(true, Ordering::Relaxed);
    let (rotator, _) = rotator(&server);
    let shutdown = Shutdown::new();
    let readiness = Readiness::new(shutdown.clone());
    let gate = readiness.gate("webhook", "not made yet");
    let watched = async {
        for (down, words) in
            [(true, "connection refused"), (false, "ValidatingWebhookConfiguration c does not exist")]
        {
            server.down.store(down, Ordering::Relaxed);
            tokio::time::sleep(RETRY_DELAY * 2).await;
            let missing = readiness.missing();
            assert!(missing.len() == 1 && missing[0].1.contains(words), "{missing:?}");
        }
        shutdown.begin();
    };
    let (ran, ()) = tokio::join!(rotator.run(gate, shutdown.clone()), watched);
    ran.unwrap();
}
