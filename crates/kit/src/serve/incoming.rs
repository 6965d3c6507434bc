//! Connections as they come in.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, Stream, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{Connection, Socket};
use crate::tls::ServerTls;

/// How long to wait when the system gives no connection, mostly for want of file descriptors.
const REST: Duration = Duration::from_secs(1);

/// The connections of a listener, without end. Handshakes run side by side, so that a slow client holds up nobody
/// but itself; while `most` connections exist, further clients wait in the kernel's queue.
pub fn incoming(
    listener: TcpListener,
    tls: Option<ServerTls>,
    most: usize,
) -> impl Stream<Item = Connection> + Send {
    let permits = Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)));
    let accepting = Accepting { listener, tls, permits, full: false, handshakes: FuturesUnordered::new() };
    stream::unfold(accepting, |mut accepting| async {
        let connection = accepting.next().await;
        Some((connection, accepting))
    })
}

struct Accepting {
    listener: TcpListener,
    tls: Option<ServerTls>,
    permits: Arc<Semaphore>,
    /// Whether the limit was reached, so that it is said once.
    full: bool,
    handshakes: FuturesUnordered<BoxFuture<'static, Option<Connection>>>,
}

impl Accepting {
    async fn next(&mut self) -> Connection {
        loop {
            tokio::select! {
                Some(made) = self.handshakes.next() => if let Some(connection) = made {
                    return connection;
                },
                (stream, peer, permit) = accept(&self.listener, &self.permits, &mut self.full) => match self.tls.clone() {
                    None => return Connection { socket: Socket::Plain(stream), peer, _permit: permit },
                    Some(tls) => self.handshakes.push(Box::pin(handshake(tls, stream, peer, permit))),
                },
            }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
    full: &mut bool,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    loop {
        let now_full = permits.available_permits() == 0;
        if now_full && !*full {
            tracing::warn!("all connections are taken; new clients wait");
        }
        *full = now_full;
        let Ok(permit) = Arc::clone(permits).acquire_owned().await else {
            std::future::pending().await // nobody closes it
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are written whole; holding their tail back only delays them.
                let _ = stream.set_nodelay(true);
                return (stream, peer, permit);
            }
            Err(error) if of_the_client(&error) => {}
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "cannot accept connections; trying again"
                );
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// Whether the client was gone before it was accepted, which is no fault of ours.
fn of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn handshake(
    tls: ServerTls,
    stream: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
) -> Option<Connection> {
    match tls.accept(stream).await {
        Ok(stream) => Some(Connection { socket: Socket::Tls(Box::new(stream)), peer, _permit: permit }),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(%peer, error, "no TLS with this client");
            None
        }
    }
}
