//! An HTTP client for each kind of access, so that a request cannot use a pooled connection that it may not open itself.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, redirect};
use url::{Host, Url};

use super::resolver::GuardedResolver;
use super::{NetworkAccess, PrivateAddress};

#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    pub user_agent: &'static str,
    pub connect_timeout: Duration,
    /// Idle connections that are kept for each host.
    pub max_idle: usize,
}

#[derive(Clone, Debug)]
pub struct GuardedClient {
    public: Client,
    named: Client,
}

impl GuardedClient {
    pub fn new(options: ClientOptions) -> Result<Self, reqwest::Error> {
        let client = |access| {
            let builder = || {
                Client::builder()
                    .dns_resolver(Arc::new(GuardedResolver::new(access)))
                    // Every hop has to be checked, so callers follow redirects themselves.
                    .redirect(redirect::Policy::none())
                    .connect_timeout(options.connect_timeout)
                    // One body per connection is enough, and the framing of HTTP/1 tells a complete body from a broken one.
                    .http1_only()
                    .pool_max_idle_per_host(options.max_idle)
                    .user_agent(options.user_agent)
            };
            // A minimal image has no CA certificates, and plain http needs none.
            builder().build().or_else(|error| {
                let error = &error as &dyn Error;
                tracing::warn!(error, "https does not work: this system has no CA certificates");
                builder().tls_certs_only([]).build()
            })
        };
        Ok(Self { public: client(NetworkAccess::Public)?, named: client(NetworkAccess::Named)? })
    }

    /// A request to one URL. A host that is an IP address is checked here, a name by the resolver.
    pub fn request(
        &self,
        method: Method,
        url: &Url,
        access: NetworkAccess,
    ) -> Result<RequestBuilder, PrivateAddress> {
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            _ => None,
        };
        if literal.is_some_and(|address| !access.allows(address)) {
            return Err(PrivateAddress(url.host_str().unwrap_or_default().to_owned()));
        }
        let client = if access == NetworkAccess::Public { &self.public } else { &self.named };
        // A compressed body has no declared length to check.
        Ok(client.request(method, url.clone()).header("accept-encoding", "identity"))
    }
}

/// The host that was refused, if that is why a request failed.
pub fn private_address(error: &reqwest::Error) -> Option<PrivateAddress> {
    let first: &(dyn Error + 'static) = error;
    std::iter::successors(Some(first), |&error| error.source())
        .find_map(|error| error.downcast_ref().cloned())
}
