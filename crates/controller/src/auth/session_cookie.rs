//! The cookie of the dashboard. Its value is the caller's own token, so every controller accepts it without shared state, and
//! it is worth what the token is worth: no longer, and for the same calls.

use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};

use crate::refusal::Refusal;

const NAME: &str = "vmafx_session";

/// Browsers drop a cookie of more bytes, attributes included, without a word.
const MAX_COOKIE_BYTES: usize = 4096;

/// The attributes that depend on the listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionCookie {
    /// Whether browsers send the cookie by TLS only.
    pub(crate) secure: bool,
}

impl SessionCookie {
    /// The header that has a browser keep the token, until the browser is closed if there is no `max_age`, in seconds.
    pub(crate) fn keep(self, token: &str, max_age: Option<i64>) -> Result<HeaderValue, Refusal> {
        let mut cookie = self.cookie(token);
        cookie.set_max_age(max_age.map(Duration::seconds));
        let text = cookie.encoded().to_string();
        if text.len() > MAX_COOKIE_BYTES {
            return Err(Refusal::invalid(
                "token",
                format!(
                    "a browser keeps at most {MAX_COOKIE_BYTES} bytes, and this token needs {}; use one with fewer claims",
                    text.len()
                ),
            ));
        }
        HeaderValue::from_str(&text).map_err(|_| Refusal::Unauthenticated)
    }

    /// The header that has a browser forget the token.
    pub(crate) fn remove(self) -> Option<HeaderValue> {
        let mut cookie = self.cookie("");
        cookie.make_removal();
        HeaderValue::from_str(&cookie.to_string()).ok()
    }

    fn cookie(self, value: &str) -> Cookie<'_> {
        Cookie::build((NAME, value))
            .http_only(true)
            .same_site(SameSite::Strict)
            .path("/")
            .secure(self.secure)
            .build()
    }
}

/// The token in the cookies of a request. With two cookies of the name there is none: a page of a sibling domain may have set
/// the other one.
pub(crate) fn token(headers: &HeaderMap) -> Option<String> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let cookies = texts.flat_map(|text| Cookie::split_parse_encoded(text.to_owned()));
    let mut own = cookies.flatten().filter(|cookie| cookie.name() == NAME);
    let value = own.next()?.value().to_owned();
    (own.next().is_none() && !value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one(&["vmafx_session=abc"], Some("abc"))]
    #[case::among_others(&["a=1; vmafx_session=abc.def; b=2"], Some("abc.def"))]
    #[case::encoded(&["vmafx_session=a%3Bb%25"], Some("a;b%"))]
    #[case::none(&["session=abc"], None)]
    #[case::empty(&["vmafx_session="], None)]
    #[case::two(&["vmafx_session=abc; vmafx_session=def"], None)]
    #[case::two_headers(&["vmafx_session=abc", "vmafx_session=def"], None)]
    #[case::no_header(&[], None)]
    fn there_is_one_token_or_none(#[case] values: &[&str], #[case] expected: Option<&str>) {
        let headers = values.iter().map(|value| (COOKIE, value.parse().unwrap())).collect();
        assert_eq!(token(&headers).as_deref(), expected);
    }

    #[rstest]
    #[case("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2ln")]
    #[case("a token; with=\"odd\", letters%20\\")]
    fn a_token_comes_back_as_it_was(#[case] sent: &str) {
        let header = SessionCookie { secure: true }.keep(sent, Some(60)).unwrap();
        let pair = header.to_str().unwrap().split("; ").next().unwrap();
        let headers = [(COOKIE, pair.parse().unwrap())].into_iter().collect();
        assert_eq!(token(&headers).as_deref(), Some(sent));
    }

    #[test]
    fn a_token_that_a_browser_would_drop_is_refused() {
        let keep = |length: usize| SessionCookie { secure: true }.keep(&"x".repeat(length), Some(3600));
        assert!(keep(3900).is_ok());
        let refusal = keep(4096).unwrap_err().to_string();
        assert!(refusal.contains("a browser keeps at most 4096 bytes"), "{refusal}");
    }
}
