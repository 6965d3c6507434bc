//! A layer around the whole router: `axum::middleware::from_fn_with_state(log, audit_http)`.

use axum::extract::{FromRequestParts as _, MatchedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;
use tonic::Code;

use super::{AuditLog, CallEnd, PendingLine};
use crate::auth::permissions;

pub async fn audit_http(State(log): State<AuditLog>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let route = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    let listed = route.filter(|route| permissions::of_http_route(&parts.method, route).is_some());
    let line = listed.and_then(|route| {
        let (effect, method) = (permissions::http_effect(&parts.method), format!("{} {route}", parts.method));
        PendingLine::begin(&log, method, effect, &parts.headers, &parts.extensions)
    });
    let Some(line) = line else { return next.run(Request::from_parts(parts, body)).await };
    let call = line.call();
    // Decoded as the handler decodes them: an id with percent signs is the same job.
    if let Ok(params) = RawPathParams::from_request_parts(&mut parts, &()).await
        && let Some((_, id)) = params.iter().find(|(name, _)| *name == "id")
    {
        call.named_job(id);
    }
    parts.extensions.insert(call);
    let response = next.run(Request::from_parts(parts, body)).await;
    line.ended(end(&response));
    response
}

fn end(response: &Response) -> CallEnd {
    let refused = response.extensions().get::<CallEnd>().copied();
    refused.unwrap_or_else(|| CallEnd { code: code(response.status()), reason: None })
}

/// The code of a response that no refusal made, so that the log has one vocabulary.
const fn code(status: StatusCode) -> Code {
    match status.as_u16() {
        100..400 => Code::Ok,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        413 | 429 => Code::ResourceExhausted,
        400..500 => Code::InvalidArgument,
        _ => Code::Internal,
    }
}
