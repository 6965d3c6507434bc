//! A transport that refuses private networks unless an administrator listed the host.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use url::Url;
use vmafx_kit::egress::{ClientOptions, GuardedClient, ListedHosts, PrivateAddress, private_address};

use super::{Transport, TransportError, classify};

/// For callers that let others choose the registry. Whoever controls a registry also chooses its token server and the
/// targets of its redirects, so every request is checked by itself.
#[derive(Clone, Debug)]
pub struct GuardedTransport {
    client: GuardedClient,
    private_hosts: ListedHosts,
}

impl GuardedTransport {
    /// `private_hosts` may have private addresses.
    pub fn new(connect_timeout: Duration, private_hosts: ListedHosts) -> Result<Self, TransportError> {
        let options = ClientOptions {
            user_agent: concat!("vmafx/", env!("CARGO_PKG_VERSION")),
            connect_timeout,
            max_idle: 2,
        };
        let client = GuardedClient::new(options).map_err(|error| classify(&error))?;
        Ok(Self { client, private_hosts })
    }
}

impl Transport for GuardedTransport {
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, TransportError> {
        Ok(self.client.request(method, url, self.private_hosts.access(url))?)
    }

    fn classify(&self, error: &reqwest::Error) -> TransportError {
        private_address(error).map_or_else(|| classify(error), Into::into)
    }
}

impl From<PrivateAddress> for TransportError {
    fn from(PrivateAddress(host): PrivateAddress) -> Self {
        Self::Forbidden(host)
    }
}
