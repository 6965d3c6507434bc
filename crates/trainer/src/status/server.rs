//! The pages.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Metrics};

use super::board::Board;
use super::page::Page;

/// `/status`, `/healthz`, `/readyz` and `/metrics`.
pub fn router(board: Board, readiness: Readiness, registry: Metrics) -> Router {
    Router::new()
        .route(
            "/status",
            get(async |State(board): State<Board>| Json(board.read(|status| Page::from(status)))),
        )
        .with_state(board)
        .merge(health::router(readiness))
        .merge(metrics::router(Arc::new(registry)))
}
