//! `host:port`, as Go's `net.SplitHostPort` reads it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A host and a port. The host is a name, an IPv4 or an IPv6 address without its brackets, or empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    /// Name or address, never in brackets; empty where only a port was given.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether the host is this machine for certain, so that traffic to it never crosses a network.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddrError {
    /// `http://host:80`
    #[error("an address is host:port, without a scheme such as {scheme}://")]
    Scheme { scheme: String },
    /// `host`
    #[error("the port is missing: write host:port, or :port for every interface")]
    NoPort,
    /// `host:http`
    #[error("the port must be a number from 0 to 65535, not \"{port}\"")]
    BadPort { port: String },
    /// `::1:80`
    #[error("an IPv6 address must be in brackets, as in [::1]:8080")]
    Brackets,
    /// `ho st:80`
    #[error("\"{host}\" is neither a host name nor an address")]
    BadHost { host: String },
}

impl FromStr for HostPort {
    type Err = AddrError;

    fn from_str(text: &str) -> Result<Self, AddrError> {
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(AddrError::Scheme { scheme: scheme.to_owned() });
        }
        let (host, port) = text.rsplit_once(':').ok_or(AddrError::NoPort)?;
        let host = match host.strip_prefix('[').map(|inner| inner.strip_suffix(']')) {
            Some(Some(inner)) => inner,
            Some(None) => return Err(AddrError::Brackets),
            None if host.contains([':', ']']) => return Err(AddrError::Brackets),
            None => host,
        };
        if host.contains(|c: char| c.is_whitespace() || c.is_control() || "/@?#[]".contains(c)) {
            return Err(AddrError::BadHost { host: host.to_owned() });
        }
        // `u16::from_str` accepts a leading plus sign, which no other program does.
        let port = match port.parse() {
            Ok(number) if port.bytes().all(|b| b.is_ascii_digit()) => number,
            _ => return Err(AddrError::BadPort { port: port.to_owned() }),
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("controller.vmafx.svc.cluster.local:9090", "controller.vmafx.svc.cluster.local", 9090)]
    #[case("127.0.0.1:0", "127.0.0.1", 0)]
    #[case("[::1]:80", "::1", 80)]
    #[case(":8081", "", 8081)]
    fn reads_and_writes_an_address(#[case] text: &str, #[case] host: &str, #[case] port: u16) {
        let addr: HostPort = text.parse().unwrap();
        assert_eq!((addr.host(), addr.port()), (host, port));
        assert_eq!(addr.to_string(), text);
    }

    #[rstest]
    #[case::scheme("http://host:80", AddrError::Scheme { scheme: "http".into() })]
    #[case::no_port("host", AddrError::NoPort)]
    #[case::port_too_big(":65536", AddrError::BadPort { port: "65536".into() })]
    #[case::port_by_name("host:http", AddrError::BadPort { port: "http".into() })]
    #[case::port_with_sign("host:+80", AddrError::BadPort { port: "+80".into() })]
    #[case::bare_ipv6("::1:80", AddrError::Brackets)]
    #[case::open_bracket("[::1:80", AddrError::Brackets)]
    #[case::spaces("ho st:80", AddrError::BadHost { host: "ho st".into() })]
    #[case::path("host/x:80", AddrError::BadHost { host: "host/x".into() })]
    fn refuses_what_is_no_address(#[case] text: &str, #[case] expected: AddrError) {
        assert_eq!(text.parse::<HostPort>(), Err(expected));
    }

    #[rstest]
    #[case("127.0.0.1:1", true)]
    #[case("[::1]:1", true)]
    #[case("localhost:1", true)]
    #[case("10.0.0.1:1", false)]
    #[case("localhost.example.com:1", false)]
    fn knows_its_own_machine(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(text.parse::<HostPort>().unwrap().is_loopback(), expected);
    }
}
