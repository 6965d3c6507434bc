//! How one request is made.
//!
//! The protocol is the same for everybody; who may be connected to, and by which client, is not. The node asks with the
//! client that it fetches inputs with, which looks at every address; everybody else with [`Direct`].

use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, redirect};
use url::Url;

/// Why a request brought no answer. The texts quote no address: one may hold a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Nobody answers there; somebody may in a moment.
    #[error("it cannot be reached ({0})")]
    Unreachable(String),
    /// It broke off.
    #[error("the connection broke")]
    Cut,
    /// The certificate, the version, or no TLS at all.
    #[error("TLS failed ({0})")]
    Tls(String),
    /// It may not be asked.
    #[error("{0}")]
    Refused(String),
}

/// Makes requests.
pub trait Transport: Debug + Send + Sync {
    /// A request to one address. It must not follow redirects by itself.
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, TransportError>;

    /// What an error of the client means.
    fn explain(&self, error: &reqwest::Error) -> TransportError {
        explain(error)
    }
}

/// A client without a care about addresses: whoever uses it has chosen the registry.
#[derive(Clone, Debug)]
pub struct Direct(Client);

impl Direct {
    /// With so long for a connection.
    pub fn new(connect: Duration) -> Result<Self, TransportError> {
        let builder = || {
            Client::builder()
                // The token must not go where a redirect leads.
                .redirect(redirect::Policy::none())
                .connect_timeout(connect)
                .http1_only()
                .pool_max_idle_per_host(2)
                .user_agent(concat!("vmafx/", env!("CARGO_PKG_VERSION")))
        };
        // A minimal image knows no authorities; a registry on this machine needs none.
        let client = builder().build().or_else(|error| {
            let error = &error as &dyn Error;
            tracing::warn!(error, "no registry can be asked by https: the system knows no authorities");
            builder().tls_certs_only([]).build()
        });
        client.map(Self).map_err(|error| explain(&error))
    }
}

impl Transport for Direct {
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, TransportError> {
        Ok(self.0.request(method, url.clone()).header("accept-encoding", "identity"))
    }
}

/// What an error of the client means, in words that quote nothing.
pub fn explain(error: &reqwest::Error) -> TransportError {
    let first: &(dyn Error + 'static) = error;
    let causes = || std::iter::successors(Some(first), |&error| error.source());
    if let Some(tls) = causes().find_map(tls) {
        return TransportError::Tls(tls.to_string());
    }
    if error.is_timeout() {
        return TransportError::Unreachable("no connection in time".to_owned());
    }
    let kind = causes().filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    let kind = kind.filter(|kind| *kind != io::ErrorKind::Other).last();
    match kind {
        Some(kind) if error.is_connect() => TransportError::Unreachable(kind.to_string()),
        None if error.is_connect() => TransportError::Unreachable("no such host, or no way there".to_owned()),
        _ if error.is_body() || error.is_decode() || error.is_request() => TransportError::Cut,
        _ => TransportError::Unreachable("no connection".to_owned()),
    }
}

/// The fault of TLS that this is, or carries: an I/O error does not name what is in it as its source.
fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let inside = || error.downcast_ref::<io::Error>()?.get_ref();
    error.downcast_ref().or_else(|| tls(inside()?))
}
