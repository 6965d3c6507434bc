//! Passes on the requests that the guard accepts, with the token of the caller.
//!
//! Bodies are passed on as they arrive, so that a stream of events is not delayed. A connection that has failed is replaced
//! with the next request.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    COOKIE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, REFERRER_POLICY, SET_COOKIE, STRICT_TRANSPORT_SECURITY,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::json;
use tower::service_fn;
use vmafx_kit::causes;

use super::error::DashboardError;
use super::guard::{Guard, GuardDecision};
use super::session::{self, AccessCheck, MAX_SESSION_BYTES, SessionRequest};
use super::target::TargetCache;
use super::token::TokenSource;
use super::tunnel::TunnelConnector;

/// From a request to the header of its response. The pages give up after the same time.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Shorter than the controller's own, so that it rarely closes a connection that a request is about to use.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_IDLE_CONNECTIONS: usize = 6;

/// Headers of one connection, which are not those of the next one.
const CONNECTION_HEADERS: [HeaderName; 8] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Navigates by itself instead of a redirect: after a redirect from the page of another site, such as a chat with a link, the
/// browser would not send a `SameSite=Strict` cookie with the first request.
const SIGNED_IN_PAGE: &str = "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url=/\">\
                              <title>VMAFX</title><a href=\"/\">Open the dashboard</a>\n";

pub(super) struct Proxy {
    guard: Guard,
    tokens: TokenSource,
    client: Client<TunnelConnector, Body>,
    unreachable: AtomicBool,
}

impl Proxy {
    pub(super) fn new(guard: Guard, target: TargetCache, tokens: TokenSource) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .build(TunnelConnector(Arc::new(target)));
        Self { guard, tokens, client, unreachable: AtomicBool::new(false) }
    }

    pub(super) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Whether the controller can be reached, serves the dashboard, and accepts the caller.
    pub(super) async fn check_access(&self) -> Result<AccessCheck, DashboardError> {
        let request = Request::get("/session").body(Body::empty());
        let request = request.map_err(|error| DashboardError::Connection { cause: error.to_string() })?;
        let (head, body) = self.send(request).await?.into_parts();
        let body = read(body).await?;
        session::access(head.status, &body)?.ok_or_else(|| self.refused())
    }

    fn refused(&self) -> DashboardError {
        match &self.tokens {
            TokenSource::Missing => DashboardError::TokenRequired,
            tokens => DashboardError::TokenRefused(tokens.to_string()),
        }
    }

    pub(super) fn router(self: Arc<Self>) -> Router {
        Router::new().fallback_service(service_fn(move |request: Request<Body>| {
            let proxy = Arc::clone(&self);
            async move { Ok::<_, Infallible>(proxy.respond(request).await) }
        }))
    }

    async fn respond(&self, request: Request<Body>) -> Response {
        match self.guard.decide(request.method(), request.uri(), request.headers()) {
            GuardDecision::SignIn => self.signed_in(),
            GuardDecision::Refuse(refusal) => {
                problem(request.headers(), StatusCode::FORBIDDEN, refusal.message())
            }
            GuardDecision::Forward => self.forward(request).await,
        }
    }

    fn signed_in(&self) -> Response {
        let headers = [
            (SET_COOKIE, self.guard.cookie()),
            (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
            (CACHE_CONTROL, "no-store".to_owned()),
            (REFERRER_POLICY, "no-referrer".to_owned()),
            (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'".to_owned()),
        ];
        (headers, SIGNED_IN_PAGE).into_response()
    }

    async fn forward(&self, request: Request<Body>) -> Response {
        let about_session = SessionRequest::of(request.method(), request.uri());
        let accept = request.headers().clone();
        if about_session == Some(SessionRequest::Change) {
            let text = "kubectl vmafx dashboard signs in by itself. Stop it to sign out.";
            return problem(&accept, StatusCode::CONFLICT, text);
        }
        let response = match self.send(request).await {
            Ok(response) if about_session == Some(SessionRequest::Show) => self.own_session(response).await,
            Ok(response) => Ok(passed_on(response)),
            Err(error) => Err(error),
        };
        match response {
            Ok(response) => {
                if self.unreachable.swap(false, Ordering::Relaxed) {
                    eprintln!("The controller responds again.");
                }
                response
            }
            Err(error) => {
                let text = causes::chain(&error);
                if !self.unreachable.swap(true, Ordering::Relaxed) {
                    eprintln!("{text}\nThe pages try again by themselves.");
                }
                problem(&accept, StatusCode::BAD_GATEWAY, &text)
            }
        }
    }

    async fn own_session(&self, response: http::Response<Incoming>) -> Result<Response, DashboardError> {
        let (head, body) = response.into_parts();
        let body = read(body).await?;
        session::access(head.status, &body)?;
        let shown = session::shown(&body).ok_or_else(|| self.refused())?;
        let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
        Ok((headers, shown).into_response())
    }

    async fn send(&self, mut request: Request<Body>) -> Result<http::Response<Incoming>, DashboardError> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        // The connector decides where the controller is; the name only groups the connections of the pool.
        let uri = Uri::builder().scheme("http").authority("controller").path_and_query(path).build();
        *request.uri_mut() = uri.map_err(|error| DashboardError::Connection { cause: error.to_string() })?;
        let headers = request.headers_mut();
        remove_connection_headers(headers);
        // The cookies are those of 127.0.0.1: ours, and those of other programs on this machine.
        headers.remove(COOKIE);
        headers.remove(AUTHORIZATION);
        if let Some(authorization) = self.tokens.authorization().await? {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        match tokio::time::timeout(RESPONSE_TIMEOUT, self.client.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failure(&error)),
            Err(_) => Err(DashboardError::Timeout(RESPONSE_TIMEOUT)),
        }
    }
}

/// The error of the connector, if the pool reports one, instead of the pool's words around it.
fn failure(error: &(dyn Error + 'static)) -> DashboardError {
    let mut next = Some(error);
    while let Some(cause) = next {
        if cause.is::<DashboardError>() {
            return DashboardError::NotConnected(causes::chain(cause));
        }
        next = cause.source();
    }
    DashboardError::Connection { cause: causes::chain(error) }
}

async fn read(body: Incoming) -> Result<Vec<u8>, DashboardError> {
    let read = tokio::time::timeout(RESPONSE_TIMEOUT, Limited::new(body, MAX_SESSION_BYTES).collect()).await;
    match read {
        Ok(Ok(body)) => Ok(body.to_bytes().into()),
        Ok(Err(error)) => Err(DashboardError::Connection { cause: error.to_string() }),
        Err(_) => Err(DashboardError::Timeout(RESPONSE_TIMEOUT)),
    }
}

fn passed_on(response: http::Response<Incoming>) -> Response {
    let mut response = response.map(Body::new);
    let headers = response.headers_mut();
    remove_connection_headers(headers);
    headers.remove(SET_COOKIE);
    headers.remove(STRICT_TRANSPORT_SECURITY);
    response
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // A body without its length would be cut.
        .filter(|name| *name != CONTENT_LENGTH)
        .collect();
    for name in named.iter().chain(&CONNECTION_HEADERS) {
        headers.remove(name);
    }
}

/// Text for a reader, and for the pages the JSON that they expect of the controller.
fn problem(request: &HeaderMap, status: StatusCode, text: &str) -> Response {
    let accept = request.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let uncached = (CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if accept.contains("text/html") {
        return (status, [uncached], format!("{text}\n")).into_response();
    }
    let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
    (status, [uncached, json], json!({ "error": text }).to_string()).into_response()
}
