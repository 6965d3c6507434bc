//! Refusals as HTTP responses: a status and `{"error": "…"}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::refusal::Refusal;

/// The body of every error response.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Error")]
pub(super) struct Problem {
    /// What is wrong and what to do.
    pub(super) error: String,
    /// The limit that refused the call, if one did, such as `pendingJobs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<&'static str>,
}

impl Problem {
    pub(super) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), limit: None }
    }
}

pub(super) const fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Unauthenticated | Refusal::Incomplete(_) => StatusCode::UNAUTHORIZED,
        Refusal::Denied(_) | Refusal::OutsideRoots { .. } => StatusCode::FORBIDDEN,
        Refusal::Invalid { .. } => StatusCode::BAD_REQUEST,
        Refusal::NotFound(_) => StatusCode::NOT_FOUND,
        Refusal::Conflict(_) | Refusal::KeyReused(_) => StatusCode::CONFLICT,
        Refusal::OutOfRange(_) => StatusCode::GONE,
        Refusal::StoreFull(_) => StatusCode::INSUFFICIENT_STORAGE,
        Refusal::Exhausted(_) | Refusal::LimitReached { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unavailable(_) | Refusal::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, end) = (status(&self), crate::grpc::refused(&self));
        let limit = match &self {
            Self::LimitReached { limit, .. } => Some(limit.name()),
            _ => None,
        };
        let error = match self {
            Self::Invalid { field, problem } | Self::OutsideRoots { field, problem } => {
                format!("{}: {problem}", camel(&field))
            }
            Self::KeyReused(problem) => format!("idempotencyKey: {problem}"),
            other => other.to_string(),
        };
        let mut response = (status, Json(Problem { limit, ..Problem::new(error) })).into_response();
        // For the audit log, which has the same words for both protocols.
        response.extensions_mut().insert(end);
        response
    }
}

pub(super) fn response(status: StatusCode, error: impl Into<String>) -> Response {
    (status, Json(Problem::new(error))).into_response()
}

pub(super) fn method_not_allowed() -> Response {
    response(StatusCode::METHOD_NOT_ALLOWED, "this path does not take that method: see /openapi.json")
}

/// The name of a field in JSON.
fn camel(field: &str) -> String {
    let mut name = String::with_capacity(field.len());
    let mut quoted = false;
    let mut upper = false;
    for letter in field.chars() {
        quoted ^= letter == '"';
        match letter {
            '_' if !quoted => upper = true,
            letter if upper => {
                name.push(letter.to_ascii_uppercase());
                upper = false;
            }
            letter => name.push(letter),
        }
    }
    // `reportURI` is spelled as in the custom resources; a size and the parts of an origin are one level higher in JSON.
    name.replace("reportUri", "reportURI").replace("scaleTo.size.", "scaleTo.").replace("originFilter.", "")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("page_size", "pageSize")]
    #[case("scoring.scale_to.size.width", "scoring.scaleTo.width")]
    #[case("origin_filter.cluster", "cluster")]
    #[case("scoring.report_uri", "scoring.reportURI")]
    #[case("job_ids[3]", "jobIds[3]")]
    #[case("features[\"my_own\"]", "features[\"my_own\"]")]
    fn fields_are_named_as_in_json(#[case] wire: &str, #[case] json: &str) {
        assert_eq!(camel(wire), json);
    }
}
