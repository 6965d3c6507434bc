//! Extractors for callers, bodies, queries and ids, with error messages of our own.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::problem;
use crate::audit::AuditedCall;
use crate::auth::CallAccess;
use crate::identity::Identity;
use crate::refusal::Refusal;

/// The caller, as authentication identified it.
pub(super) struct Caller(pub(super) Identity);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get().cloned().map(Self).ok_or(Refusal::Unauthenticated)
    }
}

/// The access of the caller, for calls that go on.
pub(super) struct StreamAccess(pub(super) CallAccess);

impl<S: Sync> FromRequestParts<S> for StreamAccess {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get().cloned().map(Self).ok_or(Refusal::Unauthenticated)
    }
}

/// The line of the call in the audit log.
pub(super) struct Audited(pub(super) AuditedCall);

impl<S: Sync> FromRequestParts<S> for Audited {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(AuditedCall::of(&parts.extensions)))
    }
}

/// A JSON body. Its content type is ignored: users forget it, and every body is JSON.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let bytes = bytes(request, state).await?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| malformed(&error))
    }
}

/// A JSON body that may be left out.
pub(super) struct OptionalBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let bytes = bytes(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| malformed(&error))
    }
}

async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Response> {
    Bytes::from_request(request, state).await.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(ref error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            problem::response(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is too large; VMAFX_HTTP_LIMITS_BODY sets the limit",
            )
        }
        _ => problem::response(StatusCode::BAD_REQUEST, "the body is incomplete"),
    })
}

fn malformed(error: &serde_json::Error) -> Response {
    problem::response(StatusCode::BAD_REQUEST, format!("the body is invalid: {error}"))
}

/// The query of a URL. An unknown parameter is refused, because a misspelled one that is ignored would go unnoticed.
pub(super) struct Query<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let text = rejection.body_text();
                let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
                Err(problem::response(StatusCode::BAD_REQUEST, format!("the query is invalid: {text}")))
            }
        }
    }
}

/// The id in the path.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        // Only an id that is not UTF-8 fails here, and no job has one.
        path.map(|axum::extract::Path(id)| Self(id))
            .map_err(|_| Refusal::NotFound("this job does not exist".to_owned()).into_response())
    }
}
