//! The routes of the HTTP API.

use axum::http::Method;

pub const JOBS: &str = "/v1/jobs";
pub const JOB: &str = "/v1/jobs/{id}";
pub const ATTEMPTS: &str = "/v1/jobs/{id}/attempts";
pub const EXPLAIN: &str = "/v1/jobs/{id}/explain";
pub const CANCEL: &str = "/v1/jobs/{id}/cancel";
pub const LABEL: &str = "/v1/jobs/{id}/label";
pub const NODES: &str = "/v1/nodes";
pub const EVENTS: &str = "/v1/events";
pub const SCORE: &str = "/v1/score";
pub const SESSION: &str = "/session";
pub const OPENAPI: &str = "/openapi.json";

pub const ALL: [(Method, &str); 15] = [
    (Method::GET, JOBS),
    (Method::POST, JOBS),
    (Method::GET, JOB),
    (Method::PATCH, JOB),
    (Method::GET, ATTEMPTS),
    (Method::GET, EXPLAIN),
    (Method::POST, CANCEL),
    (Method::POST, LABEL),
    (Method::GET, NODES),
    (Method::GET, EVENTS),
    (Method::POST, SCORE),
    (Method::GET, SESSION),
    (Method::POST, SESSION),
    (Method::DELETE, SESSION),
    (Method::GET, OPENAPI),
];
