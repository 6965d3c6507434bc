//! The gate for HTTP: `axum::middleware::from_fn_with_state(gate, gate::http)`, as a layer around the whole router.

use ::http::header::{ALLOW, HeaderValue, WWW_AUTHENTICATE};
use ::http::{Method, StatusCode};
use axum::Json;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::Gate;
use crate::auth::table::{self, Entry};
use crate::identity::{Role, Roles};

/// What a request meets.
enum Met {
    /// A row of the table.
    Row(Entry),
    /// A path that is there, for other methods; told to whoever may call one of those.
    OtherMethods(Entry, Vec<&'static str>),
    /// A path that is in the router and not in the table: nobody may call it.
    Unlisted,
    /// No path of ours. Whoever is known may hear so from the router.
    Nothing,
}

/// Lets a request through, or answers it.
pub async fn http(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let met = meet(request.method(), path);
    let entry = match &met {
        Met::Row(entry) | Met::OtherMethods(entry, _) => Some(*entry),
        Met::Nothing => Some(Entry::Roles(Roles::of(&Role::ALL))),
        Met::Unlisted => None,
    };
    match gate.admit(entry, request.headers()).await {
        Ok(identity) => {
            if let Met::OtherMethods(_, methods) = met {
                return other_methods(&methods);
            }
            identity.map(|identity| request.extensions_mut().insert(identity));
            next.run(request).await
        }
        Err(refusal) => {
            let mut response = refusal.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

fn meet(method: &Method, path: Option<&str>) -> Met {
    let Some(path) = path else { return Met::Nothing };
    if let Some(entry) = table::http(method, path) {
        return Met::Row(entry);
    }
    let there = || table::http_routes().iter().filter(|(_, at, _)| *at == path);
    match there().next() {
        Some((_, _, entry)) => {
            Met::OtherMethods(*entry, there().map(|(method, _, _)| method.as_str()).collect())
        }
        None => Met::Unlisted,
    }
}

fn other_methods(methods: &[&str]) -> Response {
    let error = "this path does not take that method: see /openapi.json";
    let mut response = (StatusCode::METHOD_NOT_ALLOWED, Json(json!({ "error": error }))).into_response();
    if let Ok(allowed) = HeaderValue::from_str(&methods.join(", ")) {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}
