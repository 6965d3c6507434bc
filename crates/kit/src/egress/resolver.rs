//! Resolves host names to IP addresses that may be connected to.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use super::NetworkAccess;

/// A host without an address that may be connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is in a private network")]
pub struct PrivateAddress(pub String);

/// The addresses of a host that may be connected to. The caller connects to one of these and does not resolve the name
/// again, so a name that resolves differently the next time gains nothing.
pub async fn resolve(
    host: &str,
    access: NetworkAccess,
) -> io::Result<Result<Vec<SocketAddr>, PrivateAddress>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
    let allowed: Vec<_> = found.iter().filter(|address| access.allows(address.ip())).copied().collect();
    if allowed.is_empty() && !found.is_empty() {
        return Ok(Err(PrivateAddress(host.to_owned())));
    }
    Ok(Ok(allowed))
}

/// [`resolve`] for an HTTP client.
#[derive(Debug)]
pub(super) struct GuardedResolver {
    access: NetworkAccess,
    proxies: Arc<HashSet<String>>,
}

impl GuardedResolver {
    pub(super) fn new(access: NetworkAccess) -> Self {
        Self { access, proxies: Arc::new(proxies(|name| std::env::var(name).ok())) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (access, proxies) = (self.access, Arc::clone(&self.proxies));
        Box::pin(async move {
            let host = name.as_str();
            // An administrator chose the proxy.
            let access = if proxies.contains(host) { NetworkAccess::Exact } else { access };
            let allowed = resolve(host, access).await??;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// The hosts of the proxies that the client takes from the environment.
fn proxies(variable: impl Fn(&str) -> Option<String>) -> HashSet<String> {
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let set = names.into_iter().filter_map(variable);
    let urls = set.filter_map(|proxy| {
        let url = Url::parse(&proxy).ok().filter(Url::has_host);
        url.or_else(|| Url::parse(&format!("http://{proxy}")).ok())
    });
    urls.filter_map(|url| url.host_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn resolved(access: NetworkAccess, proxy: &str, host: &str) -> Result<usize, String> {
        let proxies = Arc::new(proxies(|name| (name == "HTTPS_PROXY").then(|| proxy.to_owned())));
        let guarded = GuardedResolver { access, proxies };
        let name = host.parse().unwrap();
        Resolve::resolve(&guarded, name).await.map(Iterator::count).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_name_with_a_private_address_is_refused_unless_it_is_listed() {
        assert!(resolved(NetworkAccess::Named, "", "localhost").await.unwrap() > 0);
        let refused = resolved(NetworkAccess::Public, "", "localhost").await.unwrap_err();
        assert_eq!(refused, "localhost is in a private network");
    }

    #[tokio::test]
    async fn the_proxy_may_have_a_private_address() {
        for proxy in ["http://localhost:3128", "localhost:3128"] {
            assert!(resolved(NetworkAccess::Public, proxy, "localhost").await.is_ok(), "{proxy}");
        }
    }
}
