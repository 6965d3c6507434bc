//! `http` and `https`, by our own requests.
//!
//! Every request is one hop: redirects are followed here and not by the client, because each of them must be checked
//! against the roots. [`resolver`] passes only those IP addresses to the client that may be connected to. There is one client
//! per [`NetworkAccess`], so that a request cannot use a pooled connection that it may not open itself.
//!
//! Proxies are taken from the environment. Behind one, it is the proxy that resolves and connects: roots, redirects and
//! literal addresses are still checked here, but host names that resolve to private addresses are up to the proxy.

mod resolver;
mod response;
mod source;

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response, redirect};
use tokio::time::timeout;
use url::{Host, Url};

use self::resolver::{GuardedResolver, PrivateAddress};
use super::error::{FetchProblem, error_kind};
use super::settings::FetchLimits;
use crate::paths::network::NetworkAccess;

pub(crate) use response::status_problem;
pub(super) use source::WebSource;

#[derive(Clone, Debug)]
pub(crate) struct WebClient {
    public: Client,
    named: Client,
    headers: Duration,
    pub(crate) redirects: usize,
}

impl WebClient {
    pub(crate) fn new(limits: &FetchLimits) -> Result<Self, reqwest::Error> {
        let client = |access| {
            let builder = || {
                Client::builder()
                    .dns_resolver(Arc::new(GuardedResolver::new(access)))
                    .redirect(redirect::Policy::none())
                    .connect_timeout(limits.connect)
                    // One body per connection is enough, and the framing of HTTP/1 tells a complete body from a broken one.
                    .http1_only()
                    .pool_max_idle_per_host(4)
                    .user_agent(concat!("vmafx-node/", env!("CARGO_PKG_VERSION")))
            };
            // A minimal image has no CA certificates, and local clips and plain http need none.
            builder().build().or_else(|error| {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "https does not work: this system has no CA certificates");
                builder().tls_certs_only([]).build()
            })
        };
        let (public, named) = (client(NetworkAccess::Public)?, client(NetworkAccess::Named)?);
        Ok(Self { public, named, headers: limits.headers, redirects: limits.redirects })
    }

    /// A request to one URL. A host that is an IP address is checked here, a name by the resolver.
    pub(crate) fn request(
        &self,
        method: Method,
        url: &Url,
        access: NetworkAccess,
    ) -> Result<RequestBuilder, FetchProblem> {
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            _ => None,
        };
        if literal.is_some_and(|address| !access.allows(address)) {
            return Err(FetchProblem::PrivateAddress(url.host_str().unwrap_or_default().to_owned()));
        }
        let client = if access == NetworkAccess::Public { &self.public } else { &self.named };
        // A compressed body has no declared length to check.
        Ok(client.request(method, url.clone()).header("accept-encoding", "identity"))
    }

    /// Sends a request and waits for the headers of the response.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, FetchProblem> {
        let timed_out = FetchProblem::TimedOut { what: "the server", limit: self.headers };
        timeout(self.headers, self.send_long(request)).await.map_err(|_| timed_out)?
    }

    /// Sends a request with a body, without a timeout.
    pub(crate) async fn send_long(&self, request: RequestBuilder) -> Result<Response, FetchProblem> {
        request.send().await.map_err(|error| client_problem(&error))
    }
}

/// Without the text of the error, which quotes the address.
pub(crate) fn client_problem(error: &reqwest::Error) -> FetchProblem {
    let mut next = Some(error as &(dyn std::error::Error + 'static));
    while let Some(error) = next {
        if let Some(PrivateAddress(host)) = error.downcast_ref() {
            return FetchProblem::PrivateAddress(host.clone());
        }
        next = error.source();
    }
    if error.is_body() || error.is_decode() {
        return FetchProblem::Cut { received: 0, of: String::new() };
    }
    if error.is_timeout() {
        return FetchProblem::Unreachable("no connection in time".to_owned());
    }
    FetchProblem::Unreachable(error_kind(error))
}
