//! A token issuer: its keys, the tokens that they sign, and the server of its key set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use vmafx_controller::auth::{Access, AuthArgs, AuthError, AuthMetrics, Clocks};
use vmafx_controller::roots::RootsArgs;
use vmafx_kit::config::{Environment, ParseExit, parse};

use crate::clock::TestClock;

/// The Unix time at which every test starts.
pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) fn clock() -> TestClock {
    TestClock::at(NOW)
}

/// One of a few keys, which all tests share because generating a key is slow.
pub(crate) fn key(number: usize) -> &'static KeyPair {
    static KEYS: [OnceLock<KeyPair>; 3] = [const { OnceLock::new() }; 3];
    KEYS[number].get_or_init(|| KeyPair::generate(KeySize::Rsa2048).unwrap())
}

/// The public key as an entry of a key set.
pub(crate) fn jwk(kid: &str, key: &KeyPair) -> Value {
    let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let public = key.public_key();
    let (n, e) = (public.modulus(), public.exponent());
    json!({
        "kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256",
        "n": number(n.big_endian_without_leading_zero()), "e": number(e.big_endian_without_leading_zero()),
    })
}

/// A token with any header and any claims.
pub(crate) fn mint(header: &Value, claims: &Value, key: &KeyPair) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature).unwrap();
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The response of the key server.
#[derive(Clone)]
pub(crate) enum KeyResponse {
    Set(Value),
    Status(StatusCode),
    Redirect(String),
    Bytes(Vec<u8>),
}

#[derive(Clone)]
struct KeyServer {
    response: Arc<Mutex<KeyResponse>>,
    reads: Arc<AtomicUsize>,
    /// The `Authorization` header of each request.
    tokens: Arc<Mutex<Vec<Option<String>>>>,
}

/// An issuer with a key server, whose URL is also the name of the issuer.
pub(crate) struct Issuer {
    pub(crate) url: String,
    keys: KeyServer,
    _serving: JoinSet<()>,
}

impl Issuer {
    /// Its key set contains key 0 as `first`.
    pub(crate) async fn start() -> Self {
        let keys = KeyServer {
            response: Arc::new(Mutex::new(KeyResponse::Set(json!({"keys": [jwk("first", key(0))]})))),
            reads: Arc::default(),
            tokens: Arc::default(),
        };
        let router = Router::new().route("/keys", get(serve_keys)).with_state(keys.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut serving = JoinSet::new();
        serving.spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { url, keys, _serving: serving }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("{}/keys", self.url)
    }

    pub(crate) fn respond(&self, response: KeyResponse) {
        *self.keys.response.lock().unwrap() = response;
    }

    pub(crate) fn publish(&self, keys: &[Value]) {
        self.respond(KeyResponse::Set(json!({ "keys": keys })));
    }

    /// The number of requests for the key set.
    pub(crate) fn reads(&self) -> usize {
        self.keys.reads.load(Ordering::SeqCst)
    }

    /// The `Authorization` header of each request for the key set.
    pub(crate) fn received_tokens(&self) -> Vec<Option<String>> {
        self.keys.tokens.lock().unwrap().clone()
    }

    /// Valid claims.
    pub(crate) fn claims(&self) -> Value {
        json!({
            "iss": self.url, "aud": "vmafx", "sub": "somebody", "exp": NOW + 3600, "nbf": NOW - 60,
            "tid": "acme", "vmafx_roles": ["vmafx:writer"],
        })
    }

    /// A valid token.
    pub(crate) fn token(&self) -> String {
        self.token_with(|_| ())
    }

    /// A token with changed claims.
    pub(crate) fn token_with(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = self.claims();
        change(&mut claims);
        mint(&json!({"alg": "RS256", "kid": "first"}), &claims, key(0))
    }

    /// Settings of a controller that trusts this issuer.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("VMAFX_JWKS_ENDPOINT", self.endpoint()),
            ("VMAFX_AUTH_ISSUER", self.url.clone()),
            ("VMAFX_AUTH_AUDIENCE", "vmafx".to_owned()),
        ]
    }

    /// The access control of a controller that trusts this issuer.
    pub(crate) async fn trusted(&self, clock: &TestClock) -> Access {
        open(&self.settings(), clock).await.unwrap()
    }
}

async fn serve_keys(State(keys): State<KeyServer>, headers: HeaderMap) -> Response {
    keys.reads.fetch_add(1, Ordering::SeqCst);
    let token = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    keys.tokens.lock().unwrap().push(token);
    let response = keys.response.lock().unwrap().clone();
    match response {
        KeyResponse::Set(set) => axum::Json(set).into_response(),
        KeyResponse::Status(status) => status.into_response(),
        KeyResponse::Redirect(to) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        KeyResponse::Bytes(bytes) => bytes.into_response(),
    }
}

#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    auth: AuthArgs,
    #[command(flatten)]
    roots: RootsArgs,
}

pub(crate) async fn open(settings: &[(&str, String)], clock: &TestClock) -> Result<Access, AuthError> {
    open_with_metrics(settings, clock, AuthMetrics::default()).await
}

pub(crate) async fn open_with_metrics(
    settings: &[(&str, String)],
    clock: &TestClock,
    metrics: AuthMetrics,
) -> Result<Access, AuthError> {
    let env: Environment = settings.iter().map(|(name, value)| (*name, value.clone())).collect();
    let args = match parse::<Args>(["t"], &env, &[]) {
        Ok(args) => args,
        Err(ParseExit::HelpOrVersion(text)) => panic!("{text}"),
        Err(ParseExit::Invalid(error)) => panic!("{error}"),
    };
    args.auth.open(&args.roots, Clocks::single(Arc::new(clock.clone())), metrics).await
}
