//! URLs of registries, and which of them may be used without TLS.

use url::Url;
use vmafx_kit::config::HostPort;

use crate::credentials::is_docker_hub;
use crate::error::OciError;
use crate::reference::Repository;

#[derive(Clone, Debug)]
pub(super) struct RegistryEndpoints {
    plain_http: Vec<String>,
}

impl RegistryEndpoints {
    pub(super) fn new(plain_http: Vec<String>) -> Self {
        Self { plain_http }
    }

    /// The base URL of a repository.
    pub(super) fn base(&self, repository: &Repository) -> Result<Url, OciError> {
        let host =
            if is_docker_hub(&repository.registry) { "registry-1.docker.io" } else { &repository.registry };
        let scheme = if self.allows_plain_http(host) { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{host}/v2/{}/", repository.name))
            .map_err(|_| OciError::NotFound { response: "the registry is not a valid host".to_owned() })
    }

    /// Fails for a URL that would be used without TLS and without permission for that. Registries redirect to such URLs.
    pub(super) fn check(&self, url: &Url) -> Result<(), OciError> {
        let host = url.host_str().unwrap_or_default();
        let shown = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        // A URL drops the default port of its scheme, but an administrator may have listed it.
        let plain_http = || {
            self.allows_plain_http(&shown)
                || (url.port().is_none() && self.allows_plain_http(&format!("{host}:80")))
        };
        let allowed = url.scheme() == "https" || (url.scheme() == "http" && plain_http());
        if allowed { Ok(()) } else { Err(OciError::PlainHttp(shown)) }
    }

    /// Plain HTTP is permitted on this machine and for the registries that an administrator listed.
    fn allows_plain_http(&self, host: &str) -> bool {
        let is_local = |host: &str| host.parse().is_ok_and(|host: HostPort| host.is_loopback());
        self.plain_http.iter().any(|listed| listed.eq_ignore_ascii_case(host))
            || is_local(host)
            || is_local(&format!("{host}:80"))
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
    fn plain_http_is_used_on_this_machine_and_where_it_is_listed(#[case] text: &str, #[case] expected: &str) {
        let endpoints =
            RegistryEndpoints::new(vec!["inside.example:5000".into(), "outside.example:80".into()]);
        let base = endpoints.base(&Repository::parse(text).unwrap()).unwrap();
        assert_eq!(base.as_str(), expected);
        endpoints.check(&base).unwrap();
    }

    #[rstest]
    #[case("https://elsewhere.example/x", true)]
    #[case("http://127.0.0.1:1/x", true)]
    #[case("http://inside.example:5000/x", true)]
    #[case("http://inside.example/x", false)]
    #[case("http://elsewhere.example/x", false)]
    #[case("ftp://127.0.0.1/x", false)]
    #[case("file:///etc/passwd", false)]
    fn a_redirect_needs_tls_unless_plain_http_is_listed(#[case] url: &str, #[case] expected: bool) {
        let endpoints = RegistryEndpoints::new(vec!["inside.example:5000".into()]);
        assert_eq!(endpoints.check(&Url::parse(url).unwrap()).is_ok(), expected);
    }
}
