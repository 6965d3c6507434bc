use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::registry::Metrics;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves `/metrics`; merge it into another router or give it a port of its own.
pub fn router(metrics: Arc<Metrics>) -> Router {
    Router::new().route("/metrics", get(page)).with_state(metrics)
}

async fn page(State(metrics): State<Arc<Metrics>>) -> Response {
    response(metrics.encode())
}

/// The response with an encoded page.
pub fn response(encoded: Result<String, fmt::Error>) -> Response {
    match encoded {
        Ok(page) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], page).into_response(),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "cannot encode the metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
