//! Bodies and queries, refused in our own words.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::problem;
use crate::identity::Identity;
use crate::refusal::Refusal;

/// Who calls, as the gate found out.
pub(super) struct Caller(pub(super) Identity);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get().cloned().map(Self).ok_or(Refusal::Unauthenticated)
    }
}

/// A JSON body. Whatever its content type says: people forget it, and there is nothing else it could be.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let bytes = bytes(request, state).await?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| malformed(&error))
    }
}

/// A JSON body that may be left out.
pub(super) struct MaybeBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for MaybeBody<T> {
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
            problem::answer(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large (VMAFX_HTTP_LIMITS_BODY)")
        }
        _ => problem::answer(StatusCode::BAD_REQUEST, "the body ended early"),
    })
}

fn malformed(error: &serde_json::Error) -> Response {
    problem::answer(StatusCode::BAD_REQUEST, format!("the body is not what it should be: {error}"))
}

/// The query of a URL. A parameter that does not exist is refused: it would be ignored, and somebody surprised.
pub(super) struct Query<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let text = rejection.body_text();
                let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
                Err(problem::answer(StatusCode::BAD_REQUEST, format!("the query: {text}")))
            }
        }
    }
}

/// A part of the path.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        // What is not even text names no job.
        path.map(|axum::extract::Path(id)| Self(id))
            .map_err(|_| Refusal::NotFound("there is no such job".to_owned()).into_response())
    }
}
