use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;

use super::readiness::Readiness;

/// Serves `/healthz` and `/readyz`; merge it into another router or give it a port of its own.
pub fn router(readiness: Readiness) -> Router {
    Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(readyz)).with_state(readiness)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    let missing = readiness.missing();
    if missing.is_empty() {
        let notes = readiness.notes().into_iter().map(|(name, note)| format!("- {name}: {note}\n"));
        return (StatusCode::OK, format!("ready\n{}", notes.collect::<String>()));
    }
    let lines: Vec<_> = missing.iter().map(|(name, reason)| format!("- {name}: {reason}")).collect();
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready:\n{}\n", lines.join("\n")))
}
