use std::fmt;
use std::str::FromStr;

use super::host_port::{AddrError, HostPort};

/// One or more addresses of the same service, separated by commas. A name may also resolve to several addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPorts(Vec<HostPort>);

impl HostPorts {
    pub fn iter(&self) -> impl Iterator<Item = &HostPort> {
        self.0.iter()
    }

    /// Whether every host is this machine for certain.
    pub fn is_loopback(&self) -> bool {
        self.0.iter().all(HostPort::is_loopback)
    }
}

impl From<HostPort> for HostPorts {
    fn from(address: HostPort) -> Self {
        Self(vec![address])
    }
}

impl fmt::Display for HostPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, address) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            address.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for HostPorts {
    type Err = AddrError;

    fn from_str(text: &str) -> Result<Self, AddrError> {
        text.split(',').map(|address| address.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one("controller:9090", Ok("controller:9090"))]
    #[case::several("a:1, [::1]:2,c:3", Ok("a:1,[::1]:2,c:3"))]
    #[case::an_empty_one("a:1,,c:3", Err(AddrError::NoPort))]
    #[case::none("", Err(AddrError::NoPort))]
    fn a_list_is_separated_by_commas(#[case] text: &str, #[case] expected: Result<&str, AddrError>) {
        let parsed: Result<HostPorts, _> = text.parse();
        assert_eq!(parsed.map(|addresses| addresses.to_string()), expected.map(str::to_owned));
    }

    #[test]
    fn one_remote_host_makes_the_list_remote() {
        assert!("localhost:1,127.0.0.1:2".parse::<HostPorts>().unwrap().is_loopback());
        assert!(!"localhost:1,controller:2".parse::<HostPorts>().unwrap().is_loopback());
    }
}
