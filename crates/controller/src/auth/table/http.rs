//! The routes of HTTP.

use http::Method;

use super::{CHANGE, Entry, LOOK};

/// A route: its method, its path as the router knows it, and who may call it.
pub type HttpRoute = (Method, &'static str, Entry);

static ROUTES: [HttpRoute; 14] = [
    (Method::GET, "/healthz", Entry::Exempt),
    (Method::GET, "/readyz", Entry::Exempt),
    (Method::GET, "/metrics", Entry::Exempt),
    (Method::GET, "/openapi.json", Entry::Exempt),
    (Method::POST, "/v1/score", CHANGE),
    (Method::GET, "/v1/jobs", LOOK),
    (Method::POST, "/v1/jobs", CHANGE),
    (Method::GET, "/v1/jobs/{id}", LOOK),
    (Method::GET, "/v1/jobs/{id}/attempts", LOOK),
    (Method::GET, "/v1/jobs/{id}/explain", LOOK),
    (Method::POST, "/v1/jobs/{id}/cancel", CHANGE),
    (Method::POST, "/v1/jobs/{id}/label", CHANGE),
    (Method::GET, "/v1/nodes", LOOK),
    (Method::GET, "/v1/events", LOOK),
];

/// Who may call a route; `None` is nobody. HEAD is GET without the body.
pub fn http(method: &Method, path: &str) -> Option<Entry> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let route = ROUTES.iter().find(|(of, at, _)| of == method && *at == path);
    route.map(|(_, _, entry)| *entry)
}

/// All of them.
pub fn http_routes() -> &'static [HttpRoute] {
    &ROUTES
}
