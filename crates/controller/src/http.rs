//! The queue for people with curl: jobs and nodes as JSON, changes as server-sent events, and `POST /v1/score`.
//!
//! [`routes::ALL`] is the one list of what there is: the router, the `OpenAPI` document and the role table are held
//! against it. Everything here is a translation; what is asked and refused is [`crate::service`]'s.

mod events;
mod extract;
mod jobs;
mod nodes;
mod openapi;
mod problem;
pub mod routes;
mod score;
pub mod shape;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use crate::refusal::Refusal;
use crate::service::Service;

/// Everything below `/v1`, and the document about it. Behind the gate: handlers expect an identity. A body has at most so
/// many bytes; `None`: any number.
pub fn router(service: Service, largest_body: Option<usize>) -> Router {
    Router::new()
        .route(routes::JOBS, get(jobs::list).post(jobs::submit))
        .route(routes::JOB, get(jobs::get))
        .route(routes::ATTEMPTS, get(jobs::attempts))
        .route(routes::EXPLAIN, get(jobs::explain))
        .route(routes::CANCEL, post(jobs::cancel))
        .route(routes::LABEL, post(jobs::label))
        .route(routes::NODES, get(nodes::list))
        .route(routes::EVENTS, get(events::stream))
        .route(routes::SCORE, post(score::score))
        .route(routes::OPENAPI, get(openapi::serve))
        .method_not_allowed_fallback(async || problem::method_not_allowed())
        .fallback(async || Refusal::NotFound("there is no such path: see /openapi.json".to_owned()))
        .layer(largest_body.map_or_else(DefaultBodyLimit::disable, DefaultBodyLimit::max))
        .with_state(service)
}
