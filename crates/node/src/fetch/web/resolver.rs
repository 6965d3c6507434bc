//! Names to addresses that may be connected to.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use crate::paths::network::Reach;

/// A name that leads only to addresses that may not be connected to.
#[derive(Debug, thiserror::Error)]
#[error("{0} leads to an address inside this network")]
pub(super) struct AddressInside(pub(super) String);

/// Resolves names, and keeps only what is within reach. The client connects to one of the addresses that it is given
/// here and asks nobody else, so a name that answers differently the next time gains nothing.
#[derive(Debug)]
pub(super) struct Guarded {
    reach: Reach,
    proxies: Arc<HashSet<String>>,
}

impl Guarded {
    pub(super) fn new(reach: Reach) -> Self {
        Self { reach, proxies: Arc::new(proxies(|name| std::env::var(name).ok())) }
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (reach, proxies) = (self.reach, Arc::clone(&self.proxies));
        Box::pin(async move {
            let host = name.as_str();
            // The proxy is an administrator's choice.
            let reach = if proxies.contains(host) { Reach::Exact } else { reach };
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            let within: Vec<_> = found.iter().filter(|address| reach.allows(address.ip())).copied().collect();
            if within.is_empty() && !found.is_empty() {
                return Err(AddressInside(host.to_owned()).into());
            }
            Ok(Box::new(within.into_iter()) as Addrs)
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

    async fn found(reach: Reach, proxy: &str, host: &str) -> Result<usize, String> {
        let proxies = Arc::new(proxies(|name| (name == "HTTPS_PROXY").then(|| proxy.to_owned())));
        let guarded = Guarded { reach, proxies };
        guarded.resolve(host.parse().unwrap()).await.map(Iterator::count).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_refused_unless_it_is_named() {
        assert!(found(Reach::Named, "", "localhost").await.unwrap() > 0);
        let refused = found(Reach::Public, "", "localhost").await.unwrap_err();
        assert_eq!(refused, "localhost leads to an address inside this network");
    }

    #[tokio::test]
    async fn the_proxy_may_be_inside() {
        for proxy in ["http://localhost:3128", "localhost:3128"] {
            assert!(found(Reach::Public, proxy, "localhost").await.is_ok(), "{proxy}");
        }
    }
}
