//! The pages of the dashboard: one page and its files, which `vmafx-dashboard` embeds. They contain no data, so they need no
//! token; the page gets everything from the API, as its user.
//!
//! The headers confine the page to itself: scripts, styles and connections of this origin only, no frames around it, and no
//! address of it in requests to others.

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use vmafx_dashboard::Asset;

use crate::refusal::Refusal;

/// The paths that show the page. What each shows is decided in the browser.
const PAGES: [&str; 5] = ["/", "/jobs", "/jobs/{id}", "/nodes", "/sign-in"];
const FILE: &str = "/assets/{name}";

/// Every path of the dashboard but that of its session.
pub const PATHS: [&str; 6] = {
    let [root, jobs, job, nodes, sign_in] = PAGES;
    [root, jobs, job, nodes, sign_in, FILE]
};

const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (VARY, "accept-encoding"),
];

pub fn router() -> Router {
    let pages = PAGES.into_iter().fold(Router::new(), |router, path| router.route(path, get(page)));
    pages.route(FILE, get(file))
}

async fn page(headers: HeaderMap) -> Response {
    response(vmafx_dashboard::page(), &headers)
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match vmafx_dashboard::asset(&name) {
        Some(asset) => response(asset, &headers),
        None => Refusal::NotFound("this file does not exist; reload the page".to_owned()).into_response(),
    }
}

fn response(asset: &'static Asset, request: &HeaderMap) -> Response {
    let compressed = accepts_gzip(request);
    let mut response = if is_cached(asset, request) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if compressed {
        ([(CONTENT_ENCODING, "gzip")], asset.gzip.as_slice()).into_response()
    } else {
        asset.content.into_response()
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(asset.cache_control));
    headers.extend(HeaderValue::from_str(&asset.etag).map(|etag| (ETAG, etag)));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_cached(asset: &Asset, request: &HeaderMap) -> bool {
    elements(request, &IF_NONE_MATCH).any(|tag| tag == asset.etag || tag == "*")
}

fn accepts_gzip(request: &HeaderMap) -> bool {
    let accepted = |element: &str| {
        let (coding, parameters) = element.split_once(';').unwrap_or((element, ""));
        let weight = parameters.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        coding.trim().eq_ignore_ascii_case("gzip") && weight.is_none_or(|weight| weight > 0.0)
    };
    elements(request, &ACCEPT_ENCODING).any(accepted)
}

/// The elements of a header that is a list.
fn elements<'a>(request: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = request.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("gzip, deflate, br", true)]
    #[case("br, GZIP;q=0.5", true)]
    #[case("gzip;q=0", false)]
    #[case("br", false)]
    #[case("", false)]
    fn the_compressed_file_is_sent_to_who_accepts_it(#[case] header: &str, #[case] expected: bool) {
        let headers = [(ACCEPT_ENCODING, header.parse().unwrap())].into_iter().collect();
        assert_eq!(accepts_gzip(&headers), expected);
        assert_eq!(
            response(vmafx_dashboard::page(), &headers).headers().contains_key(CONTENT_ENCODING),
            expected
        );
    }
}
