//! Which requests may use the caller's rights.
//!
//! The port is open to every program and every user of this machine, and every web page can send requests to it. So a request
//! is served only if all of this holds:
//!
//! | rule                                                                        | keeps out                                       |
//! |-----------------------------------------------------------------------------|-------------------------------------------------|
//! | `Host` is the address and the port that was printed                         | names of others that resolve to 127.0.0.1        |
//! | it has the cookie of this run, which the printed address sets                | other users and programs, pages of other sites   |
//! | a change comes from a page of this origin and has the header of the dashboard | pages on other ports of this machine             |
//!
//! The cookie is `HttpOnly` and `SameSite=Strict`. The address that is given to the browser is on a command line, which other
//! users can read, so it signs in once only; the printed one signs in as often as its user wants.

use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{COOKIE, HOST};
use http::{HeaderMap, Method, Uri};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;
use vmafx_kit::request_origin::check_own_change;

const CODE_PARAMETER: &str = "session";

#[derive(Debug)]
pub(super) struct Guard {
    authority: String,
    cookie_name: String,
    cookie_value: String,
    printed_code: String,
    opened_code: String,
    opened_code_was_used: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardDecision {
    Forward,
    /// The request has a valid code: the response sets the cookie.
    SignIn,
    Refuse(GuardRefusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardRefusal {
    Host,
    Code,
    Cookie,
    ForeignChange,
}

impl GuardRefusal {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Host => {
                "This is the dashboard under another name. Open the address that kubectl vmafx dashboard printed."
            }
            Self::Code => {
                "This address is not valid, or was used already. Open the address that kubectl vmafx dashboard printed."
            }
            Self::Cookie => {
                "This browser is not signed in. Open the address that kubectl vmafx dashboard printed, with its session."
            }
            Self::ForeignChange => "Changes are accepted from the pages of this dashboard only.",
        }
    }
}

impl Guard {
    pub(super) fn new(port: u16) -> Self {
        Self {
            authority: format!("127.0.0.1:{port}"),
            // A browser sends a cookie to all ports of a host, so two runs need two names.
            cookie_name: format!("vmafx_dashboard_{port}"),
            cookie_value: secret(),
            printed_code: secret(),
            opened_code: secret(),
            opened_code_was_used: AtomicBool::new(false),
        }
    }

    /// The address that signs in as often as it is opened.
    pub(super) fn printed_address(&self) -> String {
        self.address(&self.printed_code)
    }

    /// The address that signs in once.
    pub(super) fn opened_address(&self) -> String {
        self.address(&self.opened_code)
    }

    fn address(&self, code: &str) -> String {
        format!("http://{}/?{CODE_PARAMETER}={code}", self.authority)
    }

    pub(super) fn cookie(&self) -> String {
        format!("{}={}; HttpOnly; Path=/; SameSite=Strict", self.cookie_name, self.cookie_value)
    }

    pub(super) fn decide(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> GuardDecision {
        if !self.is_own_host(uri, headers) {
            return GuardDecision::Refuse(GuardRefusal::Host);
        }
        if let Some(code) = code(method, uri) {
            return if self.accepts(code) {
                GuardDecision::SignIn
            } else {
                GuardDecision::Refuse(GuardRefusal::Code)
            };
        }
        if !self.has_cookie(headers) {
            return GuardDecision::Refuse(GuardRefusal::Cookie);
        }
        if !matches!(*method, Method::GET | Method::HEAD) && check_own_change(headers).is_err() {
            return GuardDecision::Refuse(GuardRefusal::ForeignChange);
        }
        GuardDecision::Forward
    }

    fn is_own_host(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().is_some_and(|host| host.as_bytes() == self.authority.as_bytes());
        let target = uri.authority().is_none_or(|authority| authority.as_str() == self.authority);
        host && target && hosts.next().is_none()
    }

    fn accepts(&self, code: &str) -> bool {
        same(code, &self.printed_code)
            || (same(code, &self.opened_code) && !self.opened_code_was_used.swap(true, Ordering::Relaxed))
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && same(value, &self.cookie_value))
    }
}

/// The code of a request that wants to sign in.
fn code<'a>(method: &Method, uri: &'a Uri) -> Option<&'a str> {
    let parameters = uri.query().filter(|_| *method == Method::GET && uri.path() == "/")?;
    parameters.split('&').find_map(|one| one.strip_prefix(CODE_PARAMETER)?.strip_prefix('='))
}

fn same(given: &str, expected: &str) -> bool {
    given.as_bytes().ct_eq(expected.as_bytes()).into()
}

fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use http::HeaderName;
    use rstest::rstest;

    use super::*;

    const PORT: u16 = 4321;

    fn decide(guard: &Guard, method: &str, uri: &str, lines: &[(&str, &str)]) -> GuardDecision {
        let header = |(name, value): &(&str, &str)| {
            let value = value.replace("COOKIE", guard.cookie().split(';').next().unwrap());
            (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
        };
        let headers = lines.iter().map(header).collect();
        guard.decide(&method.parse().unwrap(), &uri.parse().unwrap(), &headers)
    }

    const HOST_LINE: (&str, &str) = ("host", "127.0.0.1:4321");
    const COOKIE_LINE: (&str, &str) = ("cookie", "a=b; COOKIE; c=d");

    #[rstest]
    #[case::name(&[("host", "evil.example:4321")])]
    #[case::localhost(&[("host", "localhost:4321")])]
    #[case::port(&[("host", "127.0.0.1:4322")])]
    #[case::none(&[])]
    #[case::two(&[HOST_LINE, ("host", "evil.example")])]
    fn a_request_for_another_host_is_refused(#[case] hosts: &[(&str, &str)]) {
        let guard = Guard::new(PORT);
        let refused = GuardDecision::Refuse(GuardRefusal::Host);
        assert_eq!(decide(&guard, "GET", "/", &[hosts, &[COOKIE_LINE]].concat()), refused);
        let code = format!("/?session={}", guard.printed_code);
        assert_eq!(decide(&guard, "GET", &code, hosts), refused, "not even with the code");
    }

    #[test]
    fn a_request_target_of_another_host_is_refused() {
        let guard = Guard::new(PORT);
        let lines = [HOST_LINE, COOKIE_LINE];
        let refused = GuardDecision::Refuse(GuardRefusal::Host);
        assert_eq!(decide(&guard, "GET", "http://evil.example/v1/jobs", &lines), refused);
        assert_eq!(decide(&guard, "GET", "http://127.0.0.1:4321/v1/jobs", &lines), GuardDecision::Forward);
    }

    #[rstest]
    #[case::none("")]
    #[case::other_value("vmafx_dashboard_4321=0")]
    #[case::empty("vmafx_dashboard_4321=")]
    #[case::other_run("vmafx_dashboard_4322=0")]
    fn a_request_without_the_cookie_is_refused(#[case] cookie: &str) {
        let guard = Guard::new(PORT);
        for (method, path) in [("GET", "/"), ("GET", "/v1/jobs"), ("HEAD", "/"), ("POST", "/session")] {
            let decision = decide(&guard, method, path, &[HOST_LINE, ("cookie", cookie)]);
            assert_eq!(decision, GuardDecision::Refuse(GuardRefusal::Cookie), "{method} {path}");
        }
        assert_eq!(decide(&guard, "GET", "/v1/jobs", &[HOST_LINE, COOKIE_LINE]), GuardDecision::Forward);
    }

    #[test]
    fn the_cookie_of_another_run_is_refused() {
        let cookie = Guard::new(PORT).cookie();
        let cookie = cookie.split(';').next().unwrap();
        let decision = decide(&Guard::new(PORT), "GET", "/", &[HOST_LINE, ("cookie", cookie)]);
        assert_eq!(decision, GuardDecision::Refuse(GuardRefusal::Cookie));
    }

    #[test]
    fn the_opened_address_signs_in_once_and_the_printed_one_always() {
        let guard = Guard::new(PORT);
        let refused = GuardDecision::Refuse(GuardRefusal::Code);
        let sign_in = |address: &str| {
            decide(&guard, "GET", address.strip_prefix("http://127.0.0.1:4321").unwrap(), &[HOST_LINE])
        };
        assert_eq!(sign_in(&guard.opened_address()), GuardDecision::SignIn);
        assert_eq!(sign_in(&guard.opened_address()), refused);
        assert_eq!(sign_in(&guard.printed_address()), GuardDecision::SignIn);
        assert_eq!(sign_in(&guard.printed_address()), GuardDecision::SignIn);
        assert_eq!(decide(&guard, "GET", "/?session=", &[HOST_LINE]), refused);
        assert_eq!(decide(&guard, "GET", "/?session=0", &[HOST_LINE, COOKIE_LINE]), refused);
    }

    #[test]
    fn the_code_is_neither_the_cookie_nor_valid_elsewhere() {
        let guard = Guard::new(PORT);
        let refused = GuardDecision::Refuse(GuardRefusal::Cookie);
        let query = format!("session={}", guard.printed_code);
        assert_eq!(decide(&guard, "GET", &format!("/v1/jobs?{query}"), &[HOST_LINE]), refused);
        assert_eq!(decide(&guard, "POST", &format!("/?{query}"), &[HOST_LINE]), refused);
        let stolen = format!("vmafx_dashboard_4321={}", guard.printed_code);
        assert_eq!(decide(&guard, "GET", "/", &[HOST_LINE, ("cookie", &stolen)]), refused);
    }

    const OWN: (&str, &str) = ("sec-fetch-site", "same-origin");
    const REQUEST: (&str, &str) = ("x-vmafx-request", "dashboard");

    #[rstest]
    #[case::own(&[OWN, REQUEST], true)]
    #[case::own_by_origin(&[("origin", "http://127.0.0.1:4321"), REQUEST], true)]
    #[case::other_port(&[("sec-fetch-site", "same-site"), REQUEST], false)]
    #[case::other_port_by_origin(&[("origin", "http://127.0.0.1:8080"), REQUEST], false)]
    #[case::other_site(&[("sec-fetch-site", "cross-site"), REQUEST], false)]
    #[case::form(&[OWN], false)]
    #[case::no_browser(&[REQUEST], false)]
    fn a_change_is_accepted_from_our_own_pages_only(#[case] lines: &[(&str, &str)], #[case] accepted: bool) {
        let guard = Guard::new(PORT);
        let expected = if accepted {
            GuardDecision::Forward
        } else {
            GuardDecision::Refuse(GuardRefusal::ForeignChange)
        };
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let lines = [&[HOST_LINE, COOKIE_LINE], lines].concat();
            assert_eq!(decide(&guard, method, "/v1/jobs/1/cancel", &lines), expected, "{method}");
        }
    }

    #[test]
    fn no_script_and_no_other_site_gets_the_cookie() {
        let cookie = Guard::new(PORT).cookie();
        assert!(cookie.ends_with("; HttpOnly; Path=/; SameSite=Strict"), "{cookie}");
        assert!(cookie.len() > 80, "{cookie}");
    }
}
