//! Fetches a key set over HTTP.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, HeaderValue, LOCATION};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::guard::EndpointResolver;
use super::key_set::{KeySet, KeySetError};

/// Covers name resolution, TLS, all redirects and the body.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_BODY_BYTES: usize = 1024 * 1024;
const MAX_REDIRECTS: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint(Uri);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a URL such as https://issuer.example/keys")]
pub(crate) struct EndpointError;

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let uri: Uri = text.parse().map_err(|_| EndpointError)?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        let host = uri
            .authority()
            .is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
        if web && host { Ok(Self(uri)) } else { Err(EndpointError) }
    }
}

impl Endpoint {
    /// Whether the response crosses the network in plain text, where it could be replaced.
    pub(crate) fn is_unencrypted(&self) -> bool {
        let local = self.0.host().is_some_and(|host| {
            let host = host.trim_matches(['[', ']']);
            host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        });
        self.0.scheme_str() == Some("http") && !local
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("cannot read {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("{} holds no PEM certificate", .0.display())]
    NoCertificate(PathBuf),
    #[error("the system has no CA certificates: set VMAFX_JWKS_CA_FILE")]
    NoCaCertificates,
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    #[error("the token for the key endpoint is not a valid header value (VMAFX_JWKS_TOKEN_FILE)")]
    Token(#[source] http::header::InvalidHeaderValue),
    #[error("the request is invalid")]
    Request(#[source] http::Error),
    #[error("the request failed")]
    Connection(#[source] hyper_util::client::legacy::Error),
    #[error("the response broke off or is larger than {MAX_BODY_BYTES} bytes")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("no response within {FETCH_TIMEOUT:?}")]
    Timeout,
    #[error("the response has status {0}")]
    Status(StatusCode),
    #[error("a redirect leads to an invalid URL or from https to http")]
    Redirect,
    #[error("a redirect leads into a private network, to another host than the endpoint")]
    PrivateRedirect,
    #[error("more than {MAX_REDIRECTS} redirects")]
    TooManyRedirects,
    #[error("the key set cannot be used")]
    Set(#[source] KeySetError),
}

#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    endpoint: Endpoint,
    text: String,
    ca_file: Option<PathBuf>,
    token_file: Option<PathBuf>,
}

impl Fetcher {
    /// `ca_file` replaces the CA certificates of the system; `token_file` holds a bearer token to send. Both files are
    /// read for each fetch because both are rotated while the controller runs.
    pub(crate) fn new(endpoint: Endpoint, ca_file: Option<PathBuf>, token_file: Option<PathBuf>) -> Self {
        let text = endpoint.to_string();
        Self { endpoint, text, ca_file, token_file }
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.text
    }

    pub(crate) async fn fetch(&self) -> Result<KeySet, FetchError> {
        tokio::time::timeout(FETCH_TIMEOUT, self.follow_redirects()).await.unwrap_or(Err(FetchError::Timeout))
    }

    async fn follow_redirects(&self) -> Result<KeySet, FetchError> {
        let resolver = EndpointResolver::new(&self.endpoint.0);
        let mut connector = HttpConnector::new_with_resolver(resolver.clone());
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(self.tls().await?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client: Client<_, Empty<axum::body::Bytes>> =
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let token = self.token().await?;
        let mut url = self.endpoint.0.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::get(&url).header(ACCEPT, "application/jwk-set+json, application/json");
            // The target of a redirect to another origin must not receive the token.
            if let Some(token) = token.as_ref().filter(|_| same_origin(&url, &self.endpoint.0)) {
                request = request.header(AUTHORIZATION, token);
            }
            let request = request.body(Empty::new()).map_err(FetchError::Request)?;
            let response = client.request(request).await.map_err(FetchError::Connection)?;
            match response.status() {
                StatusCode::OK => {
                    let body = Limited::new(response.into_body(), MAX_BODY_BYTES);
                    let body = body.collect().await.map_err(FetchError::Body)?;
                    return KeySet::parse(&body.to_bytes()).map_err(FetchError::Set);
                }
                status if status.is_redirection() => {
                    url = redirect_target(&url, &response)?;
                    if !resolver.permits(&url) {
                        return Err(FetchError::PrivateRedirect);
                    }
                }
                status => return Err(FetchError::Status(status)),
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn tls(&self) -> Result<rustls::ClientConfig, FetchError> {
        let roots = match &self.ca_file {
            Some(file) => ca_certificates(file).await?,
            None if self.endpoint.0.scheme_str() == Some("https") => system_ca_certificates().await?,
            None => RootCertStore::empty(),
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        Ok(config.map_err(FetchError::Tls)?.with_root_certificates(roots).with_no_client_auth())
    }

    async fn token(&self) -> Result<Option<HeaderValue>, FetchError> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let token = tokio::fs::read_to_string(file).await;
        let token = token.map_err(|source| FetchError::File(file.clone(), source))?;
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(FetchError::Token)?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

fn same_origin(one: &Uri, other: &Uri) -> bool {
    one.scheme() == other.scheme() && one.authority() == other.authority()
}

/// The target is a whole URL or another path of the same origin.
fn redirect_target<B>(from: &Uri, response: &Response<B>) -> Result<Uri, FetchError> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or(FetchError::Redirect)?;
    let to: Uri = if location.starts_with('/') && !location.starts_with("//") {
        let mut parts = from.clone().into_parts();
        parts.path_and_query = Some(location.parse().map_err(|_| FetchError::Redirect)?);
        Uri::from_parts(parts).map_err(|_| FetchError::Redirect)?
    } else {
        location.parse::<Endpoint>().map_err(|_| FetchError::Redirect)?.0
    };
    let downgrade = from.scheme_str() == Some("https") && to.scheme_str() != Some("https");
    if downgrade { Err(FetchError::Redirect) } else { Ok(to) }
}

/// Only the certificates of the file, so that no public CA can vouch for a private issuer.
async fn ca_certificates(file: &Path) -> Result<RootCertStore, FetchError> {
    let pem = tokio::fs::read(file).await;
    let pem = pem.map_err(|source| FetchError::File(file.to_owned(), source))?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
    if roots.is_empty() { Err(FetchError::NoCertificate(file.to_owned())) } else { Ok(roots) }
}

/// Loading the certificates of the system blocks on file I/O.
async fn system_ca_certificates() -> Result<RootCertStore, FetchError> {
    let read = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    let certificates = read.map_err(|_| FetchError::NoCaCertificates)?.certs;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() { Err(FetchError::NoCaCertificates) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::elsewhere("https://a/x", "https://b/y", Some("https://b/y"))]
    #[case::same_host("https://a/x", "/y?z", Some("https://a/y?z"))]
    #[case::better("http://a/x", "https://a/x", Some("https://a/x"))]
    #[case::weaker("https://a/x", "http://a/x", None)]
    #[case::no_scheme("https://a/x", "//b/y", None)]
    #[case::relative("https://a/x", "y", None)]
    #[case::file("https://a/x", "file:///etc/passwd", None)]
    #[case::user("https://a/x", "https://u@b/y", None)]
    fn a_redirect_is_followed_unless_it_is_weaker(
        #[case] from: &str,
        #[case] location: &str,
        #[case] expected: Option<&str>,
    ) {
        let response = Response::builder().header(LOCATION, location).body(()).unwrap();
        let to = redirect_target(&from.parse().unwrap(), &response).ok().map(|to| to.to_string());
        assert_eq!(to.as_deref(), expected);
    }

    #[rstest]
    #[case("http://issuer.example/keys", true)]
    #[case("https://issuer.example/keys", false)]
    #[case("http://127.0.0.1:8080/keys", false)]
    #[case("http://[::1]:8080/keys", false)]
    #[case("http://localhost/keys", false)]
    fn an_unencrypted_endpoint_is_recognized(#[case] text: &str, #[case] open: bool) {
        assert_eq!(text.parse::<Endpoint>().unwrap().is_unencrypted(), open);
    }
}
