//! What there is.

use axum::http::Method;

/// The jobs.
pub const JOBS: &str = "/v1/jobs";
/// One of them.
pub const JOB: &str = "/v1/jobs/{id}";
/// How often it was handed out, and what became of it.
pub const ATTEMPTS: &str = "/v1/jobs/{id}/attempts";
/// Why it waits.
pub const EXPLAIN: &str = "/v1/jobs/{id}/explain";
/// Ends it.
pub const CANCEL: &str = "/v1/jobs/{id}/cancel";
/// Says what viewers said.
pub const LABEL: &str = "/v1/jobs/{id}/label";
/// The nodes.
pub const NODES: &str = "/v1/nodes";
/// Changes of jobs.
pub const EVENTS: &str = "/v1/events";
/// A score, while you wait.
pub const SCORE: &str = "/v1/score";
/// The document.
pub const OPENAPI: &str = "/openapi.json";

/// All of them.
pub const ALL: [(Method, &str); 11] = [
    (Method::GET, JOBS),
    (Method::POST, JOBS),
    (Method::GET, JOB),
    (Method::GET, ATTEMPTS),
    (Method::GET, EXPLAIN),
    (Method::POST, CANCEL),
    (Method::POST, LABEL),
    (Method::GET, NODES),
    (Method::GET, EVENTS),
    (Method::POST, SCORE),
    (Method::GET, OPENAPI),
];
