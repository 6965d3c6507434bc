//! The HTTP API: jobs and nodes as JSON, changes as server-sent events, and `POST /v1/score`.
//!
//! [`routes::ALL`] lists the routes; tests compare it with the router, the `OpenAPI` document and the role table. This
//! layer only converts between JSON and the types of [`crate::service`].

mod events;
mod extract;
mod jobs;
mod nodes;
mod openapi;
mod problem;
pub mod routes;
mod score;
mod session;
pub mod shape;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use crate::auth::Authenticator;
use crate::auth::session_cookie::SessionCookie;
use crate::refusal::Refusal;
use crate::service::Service;

/// Everything below `/v1`, and the `OpenAPI` document. Authentication happens before: handlers expect an identity.
/// `None` as maximum size of a body: no limit.
pub fn router(service: Service, max_body_bytes: Option<usize>) -> Router {
    Router::new()
        .route(routes::JOBS, get(jobs::list).post(jobs::submit))
        .route(routes::JOB, get(jobs::get).patch(jobs::update))
        .route(routes::ATTEMPTS, get(jobs::attempts))
        .route(routes::EXPLAIN, get(jobs::explain))
        .route(routes::CANCEL, post(jobs::cancel))
        .route(routes::LABEL, post(jobs::label))
        .route(routes::NODES, get(nodes::list))
        .route(routes::EVENTS, get(events::stream))
        .route(routes::SCORE, post(score::score))
        .route(routes::OPENAPI, get(openapi::serve))
        .method_not_allowed_fallback(async || problem::method_not_allowed())
        .fallback(async || Refusal::NotFound("this path does not exist; see /openapi.json".to_owned()))
        .layer(max_body_bytes.map_or_else(DefaultBodyLimit::disable, DefaultBodyLimit::max))
        .with_state(service)
}

/// The session of a browser. Its handlers authenticate by themselves, and take no body that is longer than a token.
pub(crate) fn session_router(authenticator: Authenticator, cookie: SessionCookie) -> Router {
    let sessions = session::Sessions { authenticator, cookie };
    Router::new()
        .route(routes::SESSION, get(session::show).post(session::sign_in).delete(session::sign_out))
        .layer(DefaultBodyLimit::max(session::MAX_BODY_BYTES))
        .with_state(sessions)
}
