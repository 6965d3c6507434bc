//! Where a registry is, and who may be asked without TLS.

use url::Url;
use vmafx_kit::config::HostPort;

use crate::credentials::is_hub;
use crate::error::OciError;
use crate::reference::Repository;

/// Registries without TLS.
#[derive(Clone, Debug)]
pub(super) struct Places {
    plain: Vec<String>,
}

impl Places {
    pub(super) fn new(plain: Vec<String>) -> Self {
        Self { plain }
    }

    /// What every path of a repository's begins with.
    pub(super) fn base(&self, repository: &Repository) -> Result<Url, OciError> {
        let host = if is_hub(&repository.registry) { "registry-1.docker.io" } else { &repository.registry };
        let scheme = if self.may_be_plain(host) { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{host}/v2/{}/", repository.name))
            .map_err(|_| OciError::NotFound { answer: "the registry is no host".to_owned() })
    }

    /// Whether a place that a registry sends us to may be asked.
    pub(super) fn may_ask(&self, url: &Url) -> Result<(), OciError> {
        let host = url.host_str().unwrap_or_default();
        let shown = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        // An address does not say the port that its scheme has anyway; an administrator may.
        let plain = || {
            self.may_be_plain(&shown) || (url.port().is_none() && self.may_be_plain(&format!("{host}:80")))
        };
        let allowed = url.scheme() == "https" || (url.scheme() == "http" && plain());
        if allowed { Ok(()) } else { Err(OciError::Plain(shown)) }
    }

    /// Whether TLS may be left out: on this machine, and where an administrator says so.
    fn may_be_plain(&self, host: &str) -> bool {
        let here = |host: &str| host.parse().is_ok_and(|host: HostPort| host.is_loopback());
        self.plain.iter().any(|plain| plain.eq_ignore_ascii_case(host))
            || here(host)
            || here(&format!("{host}:80"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("localhost:5000/m", "http://localhost:5000/v2/m/")]
    #[case("127.0.0.1/m", "http://127.0.0.1/v2/m/")]
    #[case("[::1]:5000/a/b", "http://[::1]:5000/v2/a/b/")]
    #[case("inside.example:5000/m", "http://inside.example:5000/v2/m/")]
    #[case("inside.example/m", "https://inside.example/v2/m/")]
    #[case("Outside.example:80/m", "http://outside.example/v2/m/")]
    #[case("10.0.0.1:5000/m", "https://10.0.0.1:5000/v2/m/")]
    #[case("docker.io/team/m", "https://registry-1.docker.io/v2/team/m/")]
    fn tls_is_left_out_on_this_machine_and_where_that_is_said(#[case] text: &str, #[case] expected: &str) {
        let places = Places::new(vec!["inside.example:5000".into(), "outside.example:80".into()]);
        let base = places.base(&Repository::parse(text).unwrap()).unwrap();
        assert_eq!(base.as_str(), expected);
        places.may_ask(&base).unwrap();
    }

    #[rstest]
    #[case("https://elsewhere.example/x", true)]
    #[case("http://127.0.0.1:1/x", true)]
    #[case("http://inside.example:5000/x", true)]
    #[case("http://inside.example/x", false)]
    #[case("http://elsewhere.example/x", false)]
    #[case("ftp://127.0.0.1/x", false)]
    #[case("file:///etc/passwd", false)]
    fn so_it_is_where_a_registry_sends_us(#[case] url: &str, #[case] expected: bool) {
        let places = Places::new(vec!["inside.example:5000".into()]);
        assert_eq!(places.may_ask(&Url::parse(url).unwrap()).is_ok(), expected);
    }
}
