//! Whether a page of another origin made a request, as the browser says.
//!
//! A browser sends the cookie of the dashboard without the page's doing, so a change needs more than the cookie. Browsers set
//! `Sec-Fetch-Site` and `Origin`, and no page can change them. `X-Vmafx-Request` makes the browser ask us first before it sends
//! a request of another origin, and we never agree.
//!
//! | caller of a change                        | refused unless                                                          |
//! |-------------------------------------------|-------------------------------------------------------------------------|
//! | has an `Authorization` header             | no page can set it for another origin, so nothing is checked             |
//! | has the cookie, or signs in or out        | the request is of our own origin and has the header                      |
//! | none, because there is no authentication  | no browser says that the request is of another origin                    |

use http::header::{HOST, HeaderName, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Method, Uri};

use crate::refusal::Refusal;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The header of every change that the dashboard makes, and its value.
pub(crate) const REQUEST_HEADER: &str = "x-vmafx-request";
pub(crate) const REQUEST_VALUE: &str = "dashboard";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestOrigin {
    Own,
    Other,
    /// No browser made the request, or a very old one.
    Unknown,
}

/// Refuses a change by cookie, or a sign-in, that another site may have caused.
pub(crate) fn check_change(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if method.is_safe() {
        return Ok(());
    }
    if origin(headers) != RequestOrigin::Own {
        let text = "a session may only make changes from the pages of this controller, and this request comes from \
                    elsewhere; programs send the token in the header Authorization";
        return Err(Refusal::Denied(text.to_owned()));
    }
    if one(headers, &HeaderName::from_static(REQUEST_HEADER)) != Some(REQUEST_VALUE) {
        let text = format!("a change by a session needs the header X-Vmafx-Request: {REQUEST_VALUE}");
        return Err(Refusal::Denied(text));
    }
    Ok(())
}

/// Refuses a change that a page of another site has a browser make where callers need no token.
pub(super) fn check_anonymous_change(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if method.is_safe() || origin(headers) != RequestOrigin::Other {
        return Ok(());
    }
    Err(Refusal::Denied("the page of another site may not make changes here".to_owned()))
}

fn origin(headers: &HeaderMap) -> RequestOrigin {
    if headers.contains_key(FETCH_SITE) {
        return match one(headers, &FETCH_SITE) {
            Some("same-origin") => RequestOrigin::Own,
            _ => RequestOrigin::Other,
        };
    }
    if !headers.contains_key(ORIGIN) {
        return RequestOrigin::Unknown;
    }
    let origin = one(headers, &ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
    let authority = origin.as_ref().and_then(Uri::authority).map(Authority::as_str);
    match (authority, one(headers, &HOST)) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host) => RequestOrigin::Own,
        _ => RequestOrigin::Other,
    }
}

/// The value of a header that the request has exactly once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let header = |line: &&str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
        };
        lines.iter().map(header).collect()
    }

    #[rstest]
    #[case::own(&["sec-fetch-site: same-origin"], RequestOrigin::Own)]
    #[case::own_before_origin(&["sec-fetch-site: same-origin", "host: a", "origin: https://b"], RequestOrigin::Own)]
    #[case::cross_site(&["sec-fetch-site: cross-site", "host: a", "origin: https://a"], RequestOrigin::Other)]
    #[case::same_site(&["sec-fetch-site: same-site"], RequestOrigin::Other)]
    #[case::by_hand(&["sec-fetch-site: none"], RequestOrigin::Other)]
    #[case::twice(&["sec-fetch-site: same-origin", "sec-fetch-site: cross-site"], RequestOrigin::Other)]
    #[case::origin(&["host: a.example:8080", "origin: https://A.example:8080"], RequestOrigin::Own)]
    #[case::other_port(&["host: a.example:8080", "origin: https://a.example"], RequestOrigin::Other)]
    #[case::other_host(&["host: a.example", "origin: https://a.example.evil"], RequestOrigin::Other)]
    #[case::credentials(&["host: a.example", "origin: https://a.example@evil"], RequestOrigin::Other)]
    #[case::opaque(&["host: a.example", "origin: null"], RequestOrigin::Other)]
    #[case::no_host(&["origin: https://a.example"], RequestOrigin::Other)]
    #[case::no_browser(&["host: a.example"], RequestOrigin::Unknown)]
    fn browsers_tell_where_a_request_comes_from(#[case] lines: &[&str], #[case] expected: RequestOrigin) {
        assert_eq!(origin(&headers(lines)), expected);
    }

    #[rstest]
    #[case::own(&["sec-fetch-site: same-origin", "x-vmafx-request: dashboard"], true)]
    #[case::by_origin(&["host: a", "origin: http://a", "x-vmafx-request: dashboard"], true)]
    #[case::no_header(&["sec-fetch-site: same-origin"], false)]
    #[case::other_value(&["sec-fetch-site: same-origin", "x-vmafx-request: 1"], false)]
    #[case::other_site(&["sec-fetch-site: cross-site", "x-vmafx-request: dashboard"], false)]
    #[case::unknown(&["x-vmafx-request: dashboard"], false)]
    fn a_change_needs_our_origin_and_our_header(#[case] lines: &[&str], #[case] accepted: bool) {
        let headers = headers(lines);
        assert_eq!(check_change(&Method::POST, &headers).is_ok(), accepted);
        assert_eq!(check_change(&Method::GET, &headers), Ok(()));
    }

    #[test]
    fn without_authentication_only_a_foreign_page_is_refused() {
        let check = |lines: &[&str]| check_anonymous_change(&Method::POST, &headers(lines));
        assert_eq!(check(&["host: a"]), Ok(()));
        assert_eq!(check(&["sec-fetch-site: same-origin"]), Ok(()));
        assert!(check(&["sec-fetch-site: cross-site"]).is_err());
        assert!(check(&["host: a", "origin: http://b"]).is_err());
    }
}
