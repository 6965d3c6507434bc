//! A layer around the whole router: `axum::middleware::from_fn_with_state(authorizer, authorize_http)`.

use ::http::header::{ALLOW, CACHE_CONTROL, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use ::http::{Method, StatusCode};
use axum::Json;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{CallAuthorizer, Credential, RequestHead, admit};
use crate::audit::AuditedCall;
use crate::auth::permissions::{self, Permission};
use crate::identity::{Role, Roles};
use crate::refusal::Refusal;

enum RouteMatch {
    Listed(Permission),
    /// The path exists for other methods. Callers that are permitted to use it get their names with the 405.
    OtherMethods(Permission, Vec<&'static str>),
    /// The router has the path and the permissions do not, so every caller is denied.
    Unlisted,
    /// Authenticated callers get the router's 404.
    NoRoute,
}

pub async fn authorize_http(
    State(authorizer): State<CallAuthorizer>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let matched = match_route(request.method(), path);
    let permission = match &matched {
        RouteMatch::Listed(permission) | RouteMatch::OtherMethods(permission, _) => Some(*permission),
        RouteMatch::NoRoute => Some(Permission::Roles(Roles::of(&Role::ALL))),
        RouteMatch::Unlisted => None,
    };
    let call = AuditedCall::of(request.extensions());
    let credential = Credential::of_request(request.headers(), authorizer.accepts_cookies);
    // A browser may not keep what only this caller may read: the next user of the machine may be another one.
    let private = matches!(credential, Credential::Cookie(_)) && permission != Some(Permission::Exempt);
    let head = RequestHead::of(&request, credential);
    let mut response = match (authorizer.authorize(permission, head, &call).await, matched) {
        (Err(refusal), _) => refused(refusal),
        (Ok(_), RouteMatch::OtherMethods(_, methods)) => method_not_allowed(&methods),
        (Ok(caller), _) => {
            admit(caller, request.extensions_mut());
            next.run(request).await
        }
    };
    if private {
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

fn refused(refusal: Refusal) -> Response {
    let mut response = refusal.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn match_route(method: &Method, path: Option<&str>) -> RouteMatch {
    let Some(path) = path else { return RouteMatch::NoRoute };
    if let Some(permission) = permissions::of_http_route(method, path) {
        return RouteMatch::Listed(permission);
    }
    let routes = || permissions::HTTP_ROUTES.iter().filter(|(_, at, _)| *at == path);
    match routes().next() {
        Some((_, _, permission)) => {
            RouteMatch::OtherMethods(*permission, routes().map(|(method, _, _)| method.as_str()).collect())
        }
        None => RouteMatch::Unlisted,
    }
}

fn method_not_allowed(methods: &[&str]) -> Response {
    let error = "this path does not take that method: see /openapi.json";
    let mut response = (StatusCode::METHOD_NOT_ALLOWED, Json(json!({ "error": error }))).into_response();
    if let Ok(allowed) = HeaderValue::from_str(&methods.join(", ")) {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}
