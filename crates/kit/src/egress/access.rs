//! Which IP addresses may be connected to.
//!
//! | address                                     | no one listed it | its host name is listed | that very address is listed |
//! |---------------------------------------------|------------------|-------------------------|-----------------------------|
//! | public                                      | yes              | yes                     | yes                         |
//! | private, shared, loopback                   | no               | yes                     | yes                         |
//! | link-local, metadata services of clouds     | no               | no                      | yes                         |
//! | unspecified, multicast, broadcast, reserved | no               | no                      | no                          |
//!
//! For clips the list is the scoring roots of a job, where `https://` lists no host; for models it is [`super::ListedHosts`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which networks a request may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkAccess {
    /// The internet: no administrator listed the host.
    Public,
    /// Private networks too: an administrator listed the name of the host.
    Named,
    /// Link-local addresses too: an administrator listed the address.
    Exact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressClass {
    Public,
    Private,
    LinkLocal,
    Unusable,
}

impl NetworkAccess {
    pub fn allows(self, address: IpAddr) -> bool {
        match class(address) {
            AddressClass::Public => true,
            AddressClass::Private => self != Self::Public,
            AddressClass::LinkLocal => self == Self::Exact,
            AddressClass::Unusable => false,
        }
    }
}

fn class(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => embedded(address).map_or_else(|| class_v6(address), class_v4),
    }
}

fn class_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        // Metadata services of AWS, GCP, Azure and most others, of Oracle's and Alibaba's classic networks, and Azure's host.
        [169, 254, ..] | [192, 0, 0, 192] | [100, 100, 100, 200] | [168, 63, 129, 16] => {
            AddressClass::LinkLocal
        }
        [0 | 224..=255, ..] => AddressClass::Unusable,
        [10 | 127, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [100, 64..=127, ..]
        | [192, 0, 0, _]
        | [198, 18..=19, ..] => AddressClass::Private,
        _ => AddressClass::Public,
    }
}

fn class_v6(address: Ipv6Addr) -> AddressClass {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Private,
        // Teredo (2001:0::) tunnels to an IPv4 address that is obfuscated in it.
        [0 | 0xff00..=0xffff, ..] | [0x2001, 0, ..] => AddressClass::Unusable,
        [0xfd00, 0x0ec2, ..] | [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => AddressClass::Private,
        _ => AddressClass::Public,
    }
}

/// The IPv4 address in an IPv6 address that is mapped, compatible, translated (NAT64) or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => from(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::public("93.184.216.34", [true, true, true])]
    #[case::public_v6("2606:2800:220:1::1", [true, true, true])]
    #[case::ten("10.1.2.3", [false, true, true])]
    #[case::hundred_seventy_two("172.31.0.1", [false, true, true])]
    #[case::home("192.168.1.1", [false, true, true])]
    #[case::carrier("100.64.0.1", [false, true, true])]
    #[case::loopback("127.0.0.1", [false, true, true])]
    #[case::loopback_v6("::1", [false, true, true])]
    #[case::unique_local("fd12::1", [false, true, true])]
    #[case::metadata("169.254.169.254", [false, false, true])]
    #[case::metadata_mapped("::ffff:169.254.169.254", [false, false, true])]
    #[case::metadata_translated("64:ff9b::a9fe:a9fe", [false, false, true])]
    #[case::metadata_6to4("2002:a9fe:a9fe::1", [false, false, true])]
    #[case::metadata_v6("fd00:ec2::254", [false, false, true])]
    #[case::metadata_alibaba("100.100.100.200", [false, false, true])]
    #[case::host_of_azure("168.63.129.16", [false, false, true])]
    #[case::link_local_v6("fe80::1", [false, false, true])]
    #[case::private_mapped("::ffff:10.0.0.1", [false, true, true])]
    #[case::unspecified("0.0.0.0", [false, false, false])]
    #[case::unspecified_v6("::", [false, false, false])]
    #[case::multicast("224.0.0.1", [false, false, false])]
    #[case::multicast_v6("ff02::1", [false, false, false])]
    #[case::broadcast("255.255.255.255", [false, false, false])]
    #[case::teredo("2001:0:a9fe:a9fe::1", [false, false, false])]
    fn a_connection_is_allowed_as_far_as_its_target_is_listed(
        #[case] address: IpAddr,
        #[case] expected: [bool; 3],
    ) {
        let allowed = [NetworkAccess::Public, NetworkAccess::Named, NetworkAccess::Exact]
            .map(|access| access.allows(address));
        assert_eq!(allowed, expected);
    }
}
