//! Where the requests for a key set may lead.
//!
//! An administrator named the host of the endpoint, which may be private: that of the cluster is the API server. A redirect to
//! another host was chosen by whoever answers there, so it must not lead into private networks.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;
use vmafx_kit::egress::{NetworkAccess, resolve};

/// Resolves names for requests that start at an endpoint.
#[derive(Clone, Debug)]
pub(super) struct EndpointResolver {
    named: String,
}

impl EndpointResolver {
    pub(super) fn new(endpoint: &Uri) -> Self {
        Self { named: endpoint.host().unwrap_or_default().to_owned() }
    }

    fn access(&self, host: &str) -> NetworkAccess {
        if host.eq_ignore_ascii_case(&self.named) { NetworkAccess::Exact } else { NetworkAccess::Public }
    }

    /// Whether a URL may be requested as far as that can be told without resolving a name: a connector does not resolve
    /// literal addresses.
    pub(super) fn permits(&self, url: &Uri) -> bool {
        let host = url.host().unwrap_or_default();
        let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        literal.is_none_or(|address| self.access(host).allows(address))
    }
}

impl Service<Name> for EndpointResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let access = self.access(name.as_str());
        Box::pin(async move {
            let allowed = resolve(name.as_str(), access).await?.map_err(io::Error::other)?;
            Ok(allowed.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::the_endpoint_itself("https://10.96.0.1/keys", true)]
    #[case::another_port_of_it("https://10.96.0.1:6443/keys", true)]
    #[case::another_private_address("https://10.96.0.2/keys", false)]
    #[case::metadata("https://169.254.169.254/keys", false)]
    #[case::loopback("https://[::1]/keys", false)]
    #[case::public("https://93.184.216.34/keys", true)]
    fn a_redirect_may_not_lead_into_private_networks(#[case] target: &str, #[case] expected: bool) {
        let resolver = EndpointResolver::new(&"https://10.96.0.1/start".parse().unwrap());
        assert_eq!(resolver.permits(&target.parse().unwrap()), expected);
    }

    #[tokio::test]
    async fn a_name_is_resolved_to_a_private_address_only_if_it_is_the_endpoints() {
        let resolve = |endpoint: &str| {
            EndpointResolver::new(&endpoint.parse().unwrap()).call("localhost".parse().unwrap())
        };
        assert!(resolve("https://localhost/keys").await.unwrap().count() > 0);
        let refused = resolve("https://issuer.example/keys").await.unwrap_err();
        assert_eq!(refused.to_string(), "localhost is in a private network");
    }
}
