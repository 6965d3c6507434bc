//! `http` and `https`, by our own requests.
//!
//! Every request is one hop: redirects are followed here and not by the client, because each of them must be held
//! against the roots. Names are resolved by [`resolver`], which hands only addresses to the client that may be
//! connected to; there is one client per [`Reach`], so that a pooled connection cannot be used by somebody who may not
//! make it.
//!
//! Proxies are taken from the environment, as is usual. Behind one, it is the proxy that resolves and connects: roots,
//! redirects and literal addresses are still checked here, names that lead inside are the proxy's to refuse.

mod answer;
mod resolver;
mod source;

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response, redirect};
use tokio::time::timeout;
use url::{Host, Url};

use self::resolver::{AddressInside, Guarded};
use super::error::{Problem, kind_of};
use super::settings::Limits;
use crate::paths::network::Reach;

pub(crate) use answer::judge;
pub(super) use source::WebSource;

/// The clients.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    public: Client,
    named: Client,
    headers: Duration,
    pub(crate) redirects: usize,
}

impl Web {
    pub(crate) fn new(limits: &Limits) -> Result<Self, reqwest::Error> {
        let client = |reach| {
            let builder = || {
                Client::builder()
                    .dns_resolver(Arc::new(Guarded::new(reach)))
                    .redirect(redirect::Policy::none())
                    .connect_timeout(limits.connect)
                    // One body per connection is all we want, and its framing tells a whole body from a broken one.
                    .http1_only()
                    .pool_max_idle_per_host(4)
                    .user_agent(concat!("vmafx-node/", env!("CARGO_PKG_VERSION")))
            };
            // A minimal image knows no authorities; clips by path or plain http need none.
            builder().build().or_else(|error| {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "nothing can be fetched by https: the system knows no authorities");
                builder().tls_certs_only([]).build()
            })
        };
        let (public, named) = (client(Reach::Public)?, client(Reach::Named)?);
        Ok(Self { public, named, headers: limits.headers, redirects: limits.redirects })
    }

    /// A request to one address. The address itself is checked if the host is one; else the resolver does it.
    pub(crate) fn request(&self, method: Method, url: &Url, reach: Reach) -> Result<RequestBuilder, Problem> {
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            _ => None,
        };
        if literal.is_some_and(|address| !reach.allows(address)) {
            return Err(Problem::AddressInside(url.host_str().unwrap_or_default().to_owned()));
        }
        let client = if reach == Reach::Public { &self.public } else { &self.named };
        // What is compressed on the way has no length that could be checked.
        Ok(client.request(method, url.clone()).header("accept-encoding", "identity"))
    }

    /// Sends it and waits for the headers of the answer.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Problem> {
        let silent = Problem::Silent { what: "the server", limit: self.headers };
        timeout(self.headers, self.send_long(request)).await.map_err(|_| silent)?
    }

    /// Sends one that has a body of its own, within a limit of the caller's.
    pub(crate) async fn send_long(&self, request: RequestBuilder) -> Result<Response, Problem> {
        request.send().await.map_err(|error| of_client(&error))
    }
}

/// What a client's error means; its text is left out, because it quotes the address.
pub(crate) fn of_client(error: &reqwest::Error) -> Problem {
    let mut next = Some(error as &(dyn std::error::Error + 'static));
    while let Some(error) = next {
        if let Some(AddressInside(host)) = error.downcast_ref() {
            return Problem::AddressInside(host.clone());
        }
        next = error.source();
    }
    if error.is_body() || error.is_decode() {
        return Problem::Cut { got: 0, of: String::new() };
    }
    if error.is_timeout() {
        return Problem::Unreachable("no connection in time".to_owned());
    }
    Problem::Unreachable(kind_of(error))
}
