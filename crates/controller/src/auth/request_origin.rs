//! Which requests are refused because a page of another origin may have made them.
//!
//! | caller of a change                        | refused unless                                                          |
//! |-------------------------------------------|-------------------------------------------------------------------------|
//! | has an `Authorization` header             | no page can set it for another origin, so nothing is checked             |
//! | has the cookie, or signs in or out        | the request is of our own origin and has the header of the dashboard     |
//! | none, because there is no authentication  | no browser says that the request is of another origin                    |

use http::{HeaderMap, Method};
use vmafx_kit::request_origin::{ForeignChange, REQUEST_VALUE, RequestOrigin, check_own_change};

use crate::refusal::Refusal;

/// Refuses a change by cookie, or a sign-in, that another site may have caused.
pub(crate) fn check_change(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if method.is_safe() {
        return Ok(());
    }
    check_own_change(headers).map_err(|foreign| {
        Refusal::Denied(match foreign {
            ForeignChange::Origin => {
                "a session may only make changes from the pages of this controller, and this request comes from \
                 elsewhere; programs send the token in the header Authorization"
                    .to_owned()
            }
            ForeignChange::Header => {
                format!("a change by a session needs the header X-Vmafx-Request: {REQUEST_VALUE}")
            }
        })
    })
}

/// Refuses a change that a page of another site has a browser make where callers need no token.
pub(super) fn check_anonymous_change(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if method.is_safe() || RequestOrigin::of(headers) != RequestOrigin::Other {
        return Ok(());
    }
    Err(Refusal::Denied("the page of another site may not make changes here".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let header =
            |(name, value): &(&'static str, &'static str)| (name.parse().unwrap(), value.parse().unwrap());
        lines.iter().map(header).collect::<HeaderMap>()
    }

    #[test]
    fn reading_is_never_refused() {
        let foreign = headers(&[("sec-fetch-site", "cross-site")]);
        assert_eq!(check_change(&Method::GET, &foreign), Ok(()));
        assert!(check_change(&Method::POST, &foreign).is_err());
    }

    #[test]
    fn without_authentication_only_a_foreign_page_is_refused() {
        let check =
            |lines: &[(&'static str, &'static str)]| check_anonymous_change(&Method::POST, &headers(lines));
        assert_eq!(check(&[("host", "a")]), Ok(()));
        assert_eq!(check(&[("sec-fetch-site", "same-origin")]), Ok(()));
        assert!(check(&[("sec-fetch-site", "cross-site")]).is_err());
        assert!(check(&[("host", "a"), ("origin", "http://b")]).is_err());
    }
}
