//! Free ports of this machine.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports below the ephemeral range, which the kernel gives to no client: a server that is restarted still finds its port
/// free.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A free address on the loopback interface, another one with every call.
pub fn free_address() -> io::Result<SocketAddr> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let length = RANGE.end - RANGE.start;
    // Test programs run at the same time, some of them with consecutive ids, so each starts its search far from the others.
    let offset = std::process::id().wrapping_mul(1031) % u32::from(length);
    let offset = u16::try_from(offset).unwrap_or_default();
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in RANGE {
        let port = RANGE.start + offset.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % length;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        match TcpListener::bind(address) {
            Ok(_) => return Ok(address),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_another_one_and_taken_ports_are_skipped() {
        let taken = TcpListener::bind(free_address().unwrap()).unwrap().local_addr().unwrap();
        let others: Vec<_> = (0..10).map(|_| free_address().unwrap()).collect();
        assert!(!others.contains(&taken));
        assert!(others.iter().all(|address| RANGE.contains(&address.port())), "{others:?}");
    }
}
