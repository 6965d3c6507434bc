//! A TCP proxy with faults. With several targets it balances new connections over them, as kube-proxy does, and leaves open
//! connections where they are.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::ports;

/// What happens to the bytes of all connections, open and new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyFault {
    None,
    /// No byte passes in either direction, and no connection is closed.
    Blackhole,
    /// Every connection is closed.
    Reset,
    /// Requests pass, responses are swallowed.
    SwallowResponses,
}

/// Runs until it is dropped.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _running: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    targets: Mutex<Targets>,
    fault: watch::Sender<ProxyFault>,
    /// Counts the times that all connections were closed.
    cuts: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Targets {
    addresses: Vec<SocketAddr>,
    next: usize,
    /// Connections that were made, by target.
    connections: HashMap<SocketAddr, usize>,
}

impl TcpProxy {
    pub async fn start(targets: impl IntoIterator<Item = SocketAddr>) -> io::Result<Self> {
        let listener = TcpListener::bind(ports::free_address()?).await?;
        let address = listener.local_addr()?;
        let targets = Targets { addresses: targets.into_iter().collect(), ..Targets::default() };
        let shared = Arc::new(Shared {
            targets: Mutex::new(targets),
            fault: watch::Sender::new(ProxyFault::None),
            cuts: watch::Sender::new(0),
        });
        let mut running = JoinSet::new();
        running.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, _running: running })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where new connections go.
    pub fn set_targets(&self, targets: impl IntoIterator<Item = SocketAddr>) {
        self.shared.targets().addresses = targets.into_iter().collect();
    }

    pub fn set_fault(&self, fault: ProxyFault) {
        self.shared.fault.send_replace(fault);
    }

    /// Closes the connections that are open now.
    pub fn cut_connections(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Connections that were made to a target so far.
    pub fn connections(&self, target: SocketAddr) -> usize {
        self.shared.targets().connections.get(&target).copied().unwrap_or_default()
    }
}

impl Shared {
    fn targets(&self) -> MutexGuard<'_, Targets> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_target(&self) -> Option<SocketAddr> {
        let mut targets = self.targets();
        let count = targets.addresses.len();
        let target = *targets.addresses.get(targets.next.checked_rem(count)?)?;
        targets.next = targets.next.wrapping_add(1);
        *targets.connections.entry(target).or_default() += 1;
        Some(target)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, _)) = accepted {
                connections.spawn(connection(client, Arc::clone(&shared)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Ends when one side closes, with a cut, or with [`ProxyFault::Reset`].
async fn connection(client: TcpStream, shared: Arc<Shared>) {
    let (mut fault, mut cuts) = (shared.fault.subscribe(), shared.cuts.subscribe());
    let reset = async move {
        tokio::select! {
            _ = fault.wait_for(|fault| *fault == ProxyFault::Reset) => {}
            _ = cuts.changed() => {}
        }
    };
    let forwarded = async {
        passing(&mut shared.fault.subscribe()).await;
        // Without a target the connection is refused by closing it.
        let Some(target) = shared.next_target() else { return };
        let Ok(server) = TcpStream::connect(target).await else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::select! {
            () = copy(from_client, to_server, shared.fault.subscribe(), false) => {}
            () = copy(from_server, to_client, shared.fault.subscribe(), true) => {}
        }
    };
    tokio::select! {
        () = reset => {}
        () = forwarded => {}
    }
}

/// Waits until bytes pass.
async fn passing(fault: &mut watch::Receiver<ProxyFault>) {
    let _ = fault.wait_for(|fault| *fault != ProxyFault::Blackhole).await;
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut fault: watch::Receiver<ProxyFault>,
    is_response: bool,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        passing(&mut fault).await;
        let swallowed = is_response && *fault.borrow() == ProxyFault::SwallowResponses;
        if !swallowed && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::wait;

    /// Answers every byte with the same one.
    async fn echo() -> (SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind(ports::free_address().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut running = JoinSet::new();
        running.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut byte = [0];
                while stream.read_exact(&mut byte).await.is_ok() && stream.write_all(&byte).await.is_ok() {}
            }
        });
        (address, running)
    }

    #[tokio::test]
    async fn faults_apply_to_open_connections_and_end_with_the_fault() {
        let (target, _server) = echo().await;
        let proxy = TcpProxy::start([target]).await.unwrap();
        let mut client = TcpStream::connect(proxy.address()).await.unwrap();
        let mut byte = [0];
        client.write_all(b"a").await.unwrap();
        client.read_exact(&mut byte).await.unwrap();
        proxy.set_fault(ProxyFault::Blackhole);
        client.write_all(b"b").await.unwrap();
        let silent = tokio::time::timeout(Duration::from_millis(50), client.read_exact(&mut byte)).await;
        assert!(silent.is_err());
        proxy.set_fault(ProxyFault::None);
        client.read_exact(&mut byte).await.unwrap();
        assert_eq!((byte, proxy.connections(target)), (*b"b", 1));
        proxy.set_fault(ProxyFault::Reset);
        let closed = client.read(&mut byte).await;
        assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    }

    #[tokio::test]
    async fn without_a_target_a_connection_is_closed() {
        let proxy = TcpProxy::start([]).await.unwrap();
        let closed = wait::until(Duration::from_secs(10), "the connection to be closed", || async {
            let mut client = TcpStream::connect(proxy.address()).await.ok()?;
            matches!(client.read(&mut [0]).await, Ok(0) | Err(_)).then_some(())
        });
        closed.await.unwrap();
    }
}
