//! How one request is made.
//!
//! The protocol is the same for every user of this crate; the HTTP client is not. The node, whose jobs choose the registry,
//! uses [`GuardedTransport`]; everything else uses [`DirectTransport`].

mod guarded;

use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, redirect};
use url::Url;

pub use self::guarded::GuardedTransport;

/// Why a request got no response. The texts quote no URL, which may hold a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    #[error("it cannot be reached ({0})")]
    Unreachable(String),
    #[error("the connection broke")]
    Disconnected,
    /// An untrusted certificate, an unsupported version, or a server without TLS.
    #[error("TLS failed ({0})")]
    Tls(String),
    /// A host in a private network that no administrator listed.
    #[error(
        "{0} is in a private network; an administrator has to list it in VMAFX_OCI_PRIVATE_HOSTS if models may come from there"
    )]
    Forbidden(String),
}

pub trait Transport: Debug + Send + Sync {
    /// A request to one URL. It must not follow redirects itself.
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, TransportError>;

    fn classify(&self, error: &reqwest::Error) -> TransportError {
        classify(error)
    }
}

/// A client that permits every address, for callers that chose the registry themselves.
#[derive(Clone, Debug)]
pub struct DirectTransport(Client);

impl DirectTransport {
    pub fn new(connect_timeout: Duration) -> Result<Self, TransportError> {
        let builder = || {
            Client::builder()
                // The token must not be sent to the target of a redirect.
                .redirect(redirect::Policy::none())
                .connect_timeout(connect_timeout)
                .http1_only()
                .pool_max_idle_per_host(2)
                .user_agent(concat!("vmafx/", env!("CARGO_PKG_VERSION")))
        };
        // A minimal image has no CA certificates; a registry on this machine needs none.
        let client = builder().build().or_else(|error| {
            let error = &error as &dyn Error;
            tracing::warn!(error, "registries cannot be used over https: the system has no CA certificates");
            builder().tls_certs_only([]).build()
        });
        client.map(Self).map_err(|error| classify(&error))
    }
}

impl Transport for DirectTransport {
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, TransportError> {
        Ok(self.0.request(method, url.clone()).header("accept-encoding", "identity"))
    }
}

/// Classifies an error of the HTTP client.
pub fn classify(error: &reqwest::Error) -> TransportError {
    let first: &(dyn Error + 'static) = error;
    let causes = || std::iter::successors(Some(first), |&error| error.source());
    if let Some(tls) = causes().find_map(tls) {
        return TransportError::Tls(tls.to_string());
    }
    if error.is_timeout() {
        return TransportError::Unreachable("connection timed out".to_owned());
    }
    let kind = causes().filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    let kind = kind.filter(|kind| *kind != io::ErrorKind::Other).last();
    match kind {
        Some(kind) if error.is_connect() => TransportError::Unreachable(kind.to_string()),
        None if error.is_connect() => {
            TransportError::Unreachable("the host is unknown or has no route".to_owned())
        }
        _ if error.is_body() || error.is_decode() || error.is_request() => TransportError::Disconnected,
        _ => TransportError::Unreachable("connection failed".to_owned()),
    }
}

/// The TLS error that this is or wraps; `io::Error::source` skips the error that it wraps.
fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let wrapped = || error.downcast_ref::<io::Error>()?.get_ref();
    error.downcast_ref().or_else(|| tls(wrapped()?))
}
