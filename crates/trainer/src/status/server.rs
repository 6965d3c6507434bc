use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Metrics};

use super::page::StatusPage;
use super::shared::SharedStatus;

/// `/status`, `/healthz`, `/readyz` and `/metrics`.
pub fn router(status: SharedStatus, readiness: Readiness, registry: Metrics) -> Router {
    Router::new()
        .route(
            "/status",
            get(async |State(status): State<SharedStatus>| {
                Json(status.read(|status| StatusPage::from(status)))
            }),
        )
        .with_state(status)
        .merge(health::router(readiness))
        .merge(metrics::router(Arc::new(registry)))
}
