use std::fmt;
use std::str::FromStr;

use super::host_port::{AddrError, HostPort};

/// A listen address in Go's notation: `:8081` is every interface, `127.0.0.1:0` any free port of one interface, and
/// `0` means do not listen at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddr {
    Off,
    /// Listen here; an empty host is every interface, IPv4 and IPv6.
    At(HostPort),
}

impl FromStr for ListenAddr {
    type Err = AddrError;

    fn from_str(text: &str) -> Result<Self, AddrError> {
        if text == "0" { Ok(Self::Off) } else { text.parse().map(Self::At) }
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::At(addr) => addr.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_lone_zero_is_off() {
        assert_eq!("0".parse(), Ok(ListenAddr::Off));
    }

    #[rstest]
    #[case("0")]
    #[case(":8081")]
    #[case(":0")]
    #[case("[::1]:80")]
    fn what_is_written_reads_back(#[case] text: &str) {
        assert_eq!(text.parse::<ListenAddr>().unwrap().to_string(), text);
    }

    #[test]
    fn a_bare_port_is_refused_because_zero_alone_means_off() {
        assert_eq!("8081".parse::<ListenAddr>(), Err(AddrError::NoPort));
    }
}
