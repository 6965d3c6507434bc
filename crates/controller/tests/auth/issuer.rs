//! An issuer: keys, tokens signed by them, and the server that shows the keys.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

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
use vmafx_controller::auth::{Access, AuthArgs, AuthError, AuthMetrics, Time};
use vmafx_controller::roots::RootsArgs;
use vmafx_kit::config::{Environment, ParseExit, parse};
use vmafx_queue::clock::{Clock, Timestamp};

/// The second at which every test begins.
pub(crate) const NOW: i64 = 1_800_000_000;

/// Goes when it is told to.
#[derive(Clone)]
pub(crate) struct Hand(Arc<AtomicI64>);

impl Hand {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(NOW * 1000)))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn time(&self) -> Time {
        Time::by(Arc::new(self.clone()))
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A key. Making one takes a moment, so tests share a few.
pub(crate) fn key(number: usize) -> &'static KeyPair {
    static KEYS: [OnceLock<KeyPair>; 3] = [const { OnceLock::new() }; 3];
    KEYS[number].get_or_init(|| KeyPair::generate(KeySize::Rsa2048).unwrap())
}

/// The public part, as a key set has it.
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

/// What the server answers.
#[derive(Clone)]
pub(crate) enum Answer {
    Set(Value),
    Status(StatusCode),
    Redirect(String),
    Bytes(Vec<u8>),
}

#[derive(Clone)]
struct Shown {
    answer: Arc<Mutex<Answer>>,
    reads: Arc<AtomicUsize>,
    tokens: Arc<Mutex<Vec<Option<String>>>>,
}

/// An issuer with a server. It names itself by its address.
pub(crate) struct Issuer {
    pub(crate) url: String,
    shown: Shown,
    _serving: JoinSet<()>,
}

impl Issuer {
    /// Shows key 0 as `first`.
    pub(crate) async fn start() -> Self {
        let shown = Shown {
            answer: Arc::new(Mutex::new(Answer::Set(json!({"keys": [jwk("first", key(0))]})))),
            reads: Arc::default(),
            tokens: Arc::default(),
        };
        let router = Router::new().route("/keys", get(show)).with_state(shown.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut serving = JoinSet::new();
        serving.spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { url, shown, _serving: serving }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("{}/keys", self.url)
    }

    pub(crate) fn answers(&self, answer: Answer) {
        *self.shown.answer.lock().unwrap() = answer;
    }

    pub(crate) fn shows(&self, keys: &[Value]) {
        self.answers(Answer::Set(json!({ "keys": keys })));
    }

    /// How often the keys were read.
    pub(crate) fn reads(&self) -> usize {
        self.shown.reads.load(Ordering::SeqCst)
    }

    /// The tokens that came with those.
    pub(crate) fn tokens_seen(&self) -> Vec<Option<String>> {
        self.shown.tokens.lock().unwrap().clone()
    }

    /// Good claims, which a test may spoil.
    pub(crate) fn claims(&self) -> Value {
        json!({
            "iss": self.url, "aud": "vmafx", "sub": "somebody", "exp": NOW + 3600, "nbf": NOW - 60,
            "tid": "acme", "vmafx_roles": ["vmafx:writer"],
        })
    }

    /// A good token.
    pub(crate) fn token(&self) -> String {
        self.token_with(|_| ())
    }

    /// A token with other claims.
    pub(crate) fn token_with(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = self.claims();
        change(&mut claims);
        mint(&json!({"alg": "RS256", "kid": "first"}), &claims, key(0))
    }

    /// The settings of a controller that trusts this issuer.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("VMAFX_JWKS_ENDPOINT", self.endpoint()),
            ("VMAFX_AUTH_ISSUER", self.url.clone()),
            ("VMAFX_AUTH_AUDIENCE", "vmafx".to_owned()),
        ]
    }

    /// A controller that trusts this issuer.
    pub(crate) async fn trusted(&self, hand: &Hand) -> Access {
        open(&self.settings(), hand).await.unwrap()
    }
}

async fn show(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    shown.reads.fetch_add(1, Ordering::SeqCst);
    let token = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    shown.tokens.lock().unwrap().push(token);
    let answer = shown.answer.lock().unwrap().clone();
    match answer {
        Answer::Set(set) => axum::Json(set).into_response(),
        Answer::Status(status) => status.into_response(),
        Answer::Redirect(to) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Answer::Bytes(bytes) => bytes.into_response(),
    }
}

#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    auth: AuthArgs,
    #[command(flatten)]
    roots: RootsArgs,
}

/// What these settings make.
pub(crate) async fn open(settings: &[(&str, String)], hand: &Hand) -> Result<Access, AuthError> {
    counted(settings, hand, AuthMetrics::default()).await
}

pub(crate) async fn counted(
    settings: &[(&str, String)],
    hand: &Hand,
    metrics: AuthMetrics,
) -> Result<Access, AuthError> {
    let env: Environment = settings.iter().map(|(name, value)| (*name, value.clone())).collect();
    let args = match parse::<Args>(["t"], &env, &[]) {
        Ok(args) => args,
        Err(ParseExit::HelpOrVersion(text)) => panic!("{text}"),
        Err(ParseExit::Invalid(refusal)) => panic!("{refusal}"),
    };
    args.auth.open(&args.roots, hand.time(), metrics).await
}
