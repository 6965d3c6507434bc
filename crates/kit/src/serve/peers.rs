//! What each peer address uses of a listener.
//!
//! The table is locked when a connection is opened and closed, never by a call: a connection and its calls share one
//! [`PeerConnection`], whose counters are atomic. The entry of a peer is removed with its last connection.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 16;

/// One client, as far as its address tells. The holder of an IPv6 address has all of its /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PeerKey(IpAddr);

impl PeerKey {
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & (u128::MAX << 64);
                Self(IpAddr::V6(Ipv6Addr::from(network)))
            }
            address @ IpAddr::V4(_) => Self(address),
        }
    }
}

#[derive(Debug, Default)]
struct PeerUsage {
    /// Changed only while the shard is locked.
    connections: AtomicUsize,
    calls: AtomicUsize,
    message_bytes: AtomicUsize,
}

#[derive(Debug, Default)]
pub(super) struct PeerTable {
    shards: [Mutex<HashMap<PeerKey, Arc<PeerUsage>>>; SHARDS],
    hasher: RandomState,
}

impl PeerTable {
    /// Counts a connection until the result is dropped; `None` when the peer has `max` already.
    pub(super) fn connect(self: &Arc<Self>, address: IpAddr, max: usize) -> Option<PeerConnection> {
        let key = PeerKey::of(address);
        let mut shard = self.shard(key);
        let usage = Arc::clone(shard.entry(key).or_default());
        take(&usage.connections, 1, max).then(|| PeerConnection {
            table: Arc::clone(self),
            key,
            usage: Arc::clone(&usage),
        })
    }

    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "the remainder is an index"
    )]
    fn shard(&self, key: PeerKey) -> MutexGuard<'_, HashMap<PeerKey, Arc<PeerUsage>>> {
        let shard = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn peers(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

/// One connection of a peer.
#[derive(Debug)]
pub(super) struct PeerConnection {
    table: Arc<PeerTable>,
    key: PeerKey,
    usage: Arc<PeerUsage>,
}

impl PeerConnection {
    pub(super) fn calls(&self) -> &AtomicUsize {
        &self.usage.calls
    }

    pub(super) fn message_bytes(&self) -> &AtomicUsize {
        &self.usage.message_bytes
    }
}

impl Drop for PeerConnection {
    fn drop(&mut self) {
        let mut shard = self.table.shard(self.key);
        if self.usage.connections.fetch_sub(1, Ordering::Relaxed) == 1 {
            shard.remove(&self.key);
        }
    }
}

/// Adds `amount` unless the sum would exceed `max`. Each counter is independent of all other memory, so no order is needed.
pub(super) fn take(counter: &AtomicUsize, amount: usize, max: usize) -> bool {
    let add = |used: usize| used.checked_add(amount).filter(|sum| *sum <= max);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10.0.0.1", "10.0.0.1", true)]
    #[case("10.0.0.1", "::ffff:10.0.0.1", true)]
    #[case("10.0.0.1", "10.0.0.2", false)]
    #[case("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true)]
    #[case("2001:db8:0:1::1", "2001:db8:0:2::1", false)]
    fn a_peer_is_an_ipv4_address_or_an_ipv6_network(#[case] a: &str, #[case] b: &str, #[case] same: bool) {
        let key = |text: &str| PeerKey::of(text.parse().unwrap());
        assert_eq!(key(a) == key(b), same);
    }

    #[test]
    fn each_peer_has_its_own_connections_and_is_forgotten_with_the_last() {
        let table = Arc::new(PeerTable::default());
        let connect = |address: &str| table.connect(address.parse().unwrap(), 2);
        let first = (connect("10.0.0.1").unwrap(), connect("10.0.0.1").unwrap());
        assert!(connect("10.0.0.1").is_none());
        let other = connect("10.0.0.2").unwrap();
        assert_eq!(table.peers(), 2);
        drop(first.0);
        let third = connect("10.0.0.1").unwrap();
        drop((first.1, third, other));
        assert_eq!(table.peers(), 0);
    }
}
