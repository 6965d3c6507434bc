//! Whether a page of another origin made a request, as the browser says.
//!
//! A browser sends a cookie without the page's doing, so a change needs more than the cookie. Browsers set `Sec-Fetch-Site` and
//! `Origin`, and no page can change them. `X-Vmafx-Request` makes the browser ask the server first before it sends a request of
//! another origin, and none of our servers agrees.

use http::header::{HOST, HeaderName, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The header of every change that the dashboard makes, and its value.
pub const REQUEST_HEADER: &str = "x-vmafx-request";
pub const REQUEST_VALUE: &str = "dashboard";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrigin {
    Own,
    Other,
    /// No browser made the request, or a very old one.
    Unknown,
}

/// Why a change by cookie may be that of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignChange {
    /// The browser does not say that the request is of our own origin.
    Origin,
    /// The request does not have the header that only pages of our own origin can send.
    Header,
}

/// Refuses a change by cookie that another site may have caused.
pub fn check_own_change(headers: &HeaderMap) -> Result<(), ForeignChange> {
    if RequestOrigin::of(headers) != RequestOrigin::Own {
        return Err(ForeignChange::Origin);
    }
    if one(headers, &HeaderName::from_static(REQUEST_HEADER)) != Some(REQUEST_VALUE) {
        return Err(ForeignChange::Header);
    }
    Ok(())
}

impl RequestOrigin {
    pub fn of(headers: &HeaderMap) -> Self {
        if headers.contains_key(FETCH_SITE) {
            return match one(headers, &FETCH_SITE) {
                Some("same-origin") => Self::Own,
                _ => Self::Other,
            };
        }
        if !headers.contains_key(ORIGIN) {
            return Self::Unknown;
        }
        let origin = one(headers, &ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
        let authority = origin.as_ref().and_then(Uri::authority).map(Authority::as_str);
        match (authority, one(headers, &HOST)) {
            (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host) => Self::Own,
            _ => Self::Other,
        }
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
        assert_eq!(RequestOrigin::of(&headers(lines)), expected);
    }

    #[rstest]
    #[case::own(&["sec-fetch-site: same-origin", "x-vmafx-request: dashboard"], Ok(()))]
    #[case::by_origin(&["host: a", "origin: http://a", "x-vmafx-request: dashboard"], Ok(()))]
    #[case::no_header(&["sec-fetch-site: same-origin"], Err(ForeignChange::Header))]
    #[case::other_value(&["sec-fetch-site: same-origin", "x-vmafx-request: 1"], Err(ForeignChange::Header))]
    #[case::other_site(&["sec-fetch-site: cross-site", "x-vmafx-request: dashboard"], Err(ForeignChange::Origin))]
    #[case::unknown(&["x-vmafx-request: dashboard"], Err(ForeignChange::Origin))]
    fn a_change_needs_our_origin_and_our_header(
        #[case] lines: &[&str],
        #[case] expected: Result<(), ForeignChange>,
    ) {
        assert_eq!(check_own_change(&headers(lines)), expected);
    }
}
