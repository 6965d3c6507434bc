//! Handlers for nodes.

use axum::Json;
use axum::extract::State;

use super::extract::{Caller, Query};
use super::shape::{NoQuery, NodeList};
use crate::refusal::Refusal;
use crate::service::Service;

pub(super) async fn list(
    State(service): State<Service>,
    Caller(who): Caller,
    Query(NoQuery {}): Query<NoQuery>,
) -> Result<Json<NodeList>, Refusal> {
    let nodes = service.nodes(&who).await?;
    Ok(Json(NodeList { nodes: nodes.into_iter().map(Into::into).collect() }))
}
