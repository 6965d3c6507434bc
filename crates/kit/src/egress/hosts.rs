//! Hosts of private networks that an administrator listed.

use std::str::FromStr;

use url::{Host, Url};

use super::NetworkAccess;

/// Hosts that may have private addresses, each `host` for all its ports or `host:port`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedHosts(Vec<ListedHost>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ListedHost {
    host: Host,
    port: Option<u16>,
}

impl ListedHosts {
    /// Entries that are not hosts are skipped: they can permit nothing.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        Self(entries.into_iter().filter_map(|entry| entry.parse().ok()).collect())
    }

    /// Which networks a request to this URL may connect to.
    pub fn access(&self, url: &Url) -> NetworkAccess {
        let Some(host) = url.host() else { return NetworkAccess::Public };
        let host = host.to_owned();
        let listed = self.0.iter().any(|entry| {
            entry.host == host && entry.port.is_none_or(|port| url.port_or_known_default() == Some(port))
        });
        match (listed, host) {
            (false, _) => NetworkAccess::Public,
            (true, Host::Domain(_)) => NetworkAccess::Named,
            (true, Host::Ipv4(_) | Host::Ipv6(_)) => NetworkAccess::Exact,
        }
    }
}

impl FromStr for ListedHost {
    type Err = url::ParseError;

    /// Read as the host of a URL, so that every spelling of an address is the same entry. The scheme has no default port.
    fn from_str(text: &str) -> Result<Self, url::ParseError> {
        let authority = text.trim();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| url::ParseError::InvalidPort)?))
            }
            _ => (authority, None),
        };
        Ok(Self { host: Host::parse(host)?, port })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::not_listed("registry.team.svc", "https://other.team.svc/", NetworkAccess::Public)]
    #[case::any_port("registry.team.svc", "http://registry.team.svc:5000/v2/", NetworkAccess::Named)]
    #[case::that_port("Registry.team.svc:5000", "http://registry.team.svc:5000/v2/", NetworkAccess::Named)]
    #[case::another_port("registry.team.svc:5000", "https://registry.team.svc/v2/", NetworkAccess::Public)]
    #[case::default_port("registry.team.svc:443", "https://registry.team.svc/v2/", NetworkAccess::Named)]
    #[case::address("10.0.0.5", "https://10.0.0.5:8443/", NetworkAccess::Exact)]
    #[case::another_spelling("127.0.0.1:80", "http://0x7f.1/", NetworkAccess::Exact)]
    #[case::v6("[::1]:5000", "http://[0::1]:5000/", NetworkAccess::Exact)]
    #[case::v6_any_port("[::1]", "http://[::1]:5000/", NetworkAccess::Exact)]
    #[case::below_a_listed_name("team.svc", "https://registry.team.svc/", NetworkAccess::Public)]
    #[case::user_info("good.example", "https://good.example@10.0.0.5/", NetworkAccess::Public)]
    #[case::no_host("not a host:x", "https://10.0.0.5/", NetworkAccess::Public)]
    fn private_networks_are_open_for_listed_hosts(
        #[case] listed: &str,
        #[case] url: &str,
        #[case] expected: NetworkAccess,
    ) {
        assert_eq!(ListedHosts::new([listed]).access(&Url::parse(url).unwrap()), expected);
    }
}
