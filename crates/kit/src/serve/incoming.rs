//! Accepting connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, Stream, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{ServerConnection, ServerSocket};
use crate::tls::ServerTls;

/// Retry delay after `accept` failed, mostly because the process ran out of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// An endless stream of the connections of a listener. TLS handshakes run concurrently, so that a slow client delays
/// only itself; while `max_connections` are open, further clients wait in the kernel's queue.
pub fn incoming(
    listener: TcpListener,
    tls: Option<ServerTls>,
    max_connections: usize,
) -> impl Stream<Item = ServerConnection> + Send {
    let permits = Arc::new(Semaphore::new(max_connections.clamp(1, Semaphore::MAX_PERMITS)));
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
    /// Whether the limit was reached when last checked; the warning is logged only when it becomes reached.
    full: bool,
    handshakes: FuturesUnordered<BoxFuture<'static, Option<ServerConnection>>>,
}

impl Accepting {
    async fn next(&mut self) -> ServerConnection {
        loop {
            tokio::select! {
                Some(connection) = self.handshakes.next() => if let Some(connection) = connection {
                    return connection;
                },
                (stream, peer, permit) = accept(&self.listener, &self.permits, &mut self.full) => match self.tls.clone() {
                    None => return ServerConnection { socket: ServerSocket::Plain(stream), peer, _permit: permit },
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
            tracing::warn!("the connection limit is reached; new clients wait");
        }
        *full = now_full;
        let Ok(permit) = Arc::clone(permits).acquire_owned().await else {
            std::future::pending().await // never: the semaphore is not closed
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Responses are written whole; Nagle's algorithm would only delay their tail.
                let _ = stream.set_nodelay(true);
                return (stream, peer, permit);
            }
            Err(error) if is_client_gone(&error) => {}
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "cannot accept connections; retrying"
                );
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

/// Whether the client disconnected before it was accepted.
fn is_client_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn handshake(
    tls: ServerTls,
    stream: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
) -> Option<ServerConnection> {
    match tls.accept(stream).await {
        Ok(stream) => {
            Some(ServerConnection { socket: ServerSocket::Tls(Box::new(stream)), peer, _permit: permit })
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(%peer, error, "TLS handshake failed");
            None
        }
    }
}
