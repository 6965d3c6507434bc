//! Accepting connections.
//!
//! | limit                        | reached by a client that                | then                                       |
//! |------------------------------|-----------------------------------------|--------------------------------------------|
//! | `connections`                | comes when all are open                 | it waits in the kernel's queue             |
//! | `per_peer`                   | has this many already                   | its connection is closed at once           |
//! | `unauthenticated`            | has made no authorized call             | the oldest such connection is closed       |
//! | `opening`                    | sends nothing, or no complete preface   | its connection is closed                   |
//!
//! Until its first byte a connection has neither TLS nor HTTP/2 state.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, Stream, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connection::{AdmittedConnection, ServerConnection, ServerSocket};
use super::limits::{ConnectionLimits, ListenerProtocol};
use super::peers::PeerTable;
use super::refused::{LimitMetrics, ListenerLimit};
use super::unauthenticated::{Room, UnauthenticatedConnections};
use crate::tls::ServerTls;

/// Retry delay after `accept` failed, mostly because the process ran out of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The first byte of a TLS connection: the content type of its first record.
const TLS_HANDSHAKE: u8 = 0x16;

/// Timeout of the first byte where the limits have no timeout for the whole opening.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(10);

/// An endless stream of the connections of a listener. They are opened concurrently, so that a slow client delays only
/// itself.
pub fn incoming(
    listener: TcpListener,
    tls: Option<ServerTls>,
    limits: ConnectionLimits,
    metrics: LimitMetrics,
) -> impl Stream<Item = ServerConnection> + Send {
    let unauthenticated = limits.unauthenticated.map(|max| Arc::new(UnauthenticatedConnections::new(max)));
    let accepting = Accepting {
        acceptor: Acceptor {
            listener,
            permits: Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS))),
            peers: Arc::default(),
            unauthenticated,
            limits,
            metrics,
            full: false,
        },
        tls,
        opening: FuturesUnordered::new(),
    };
    stream::unfold(accepting, |mut accepting| async {
        let connection = accepting.next().await;
        Some((connection, accepting))
    })
}

struct Accepting {
    acceptor: Acceptor,
    tls: Option<ServerTls>,
    opening: FuturesUnordered<BoxFuture<'static, Option<ServerConnection>>>,
}

impl Accepting {
    async fn next(&mut self) -> ServerConnection {
        loop {
            tokio::select! {
                Some(connection) = self.opening.next() => if let Some(connection) = connection {
                    return connection;
                },
                (stream, peer, admitted) = self.acceptor.accept() => {
                    let protocol = self.acceptor.limits.protocol;
                    match self.tls.clone() {
                        None if protocol == ListenerProtocol::Http1 => {
                            return ServerConnection::new(ServerSocket::Plain(stream), peer, admitted);
                        }
                        tls => {
                            let limits = self.acceptor.limits;
                            let metrics = self.acceptor.metrics.clone();
                            self.opening.push(Box::pin(open(stream, peer, admitted, tls, limits, metrics)));
                        }
                    }
                }
            }
        }
    }
}

struct Acceptor {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    peers: Arc<PeerTable>,
    unauthenticated: Option<Arc<UnauthenticatedConnections>>,
    limits: ConnectionLimits,
    metrics: LimitMetrics,
    /// Whether the limit was reached when last checked; the warning is logged only when it becomes reached.
    full: bool,
}

impl Acceptor {
    async fn accept(&mut self) -> (TcpStream, SocketAddr, AdmittedConnection) {
        loop {
            let permit = self.permit().await;
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let Some(connection) = self.peers.connect(peer.ip(), self.limits.per_peer) else {
                        self.metrics.count(ListenerLimit::ConnectionsPerPeer);
                        tracing::debug!(%peer, "closed a connection of a peer that has too many");
                        continue;
                    };
                    // Responses are written whole; Nagle's algorithm would only delay their tail.
                    let _ = stream.set_nodelay(true);
                    let admitted = AdmittedConnection {
                        peer: Arc::new(connection),
                        authentication: self.unauthenticated.as_ref().map(UnauthenticatedConnections::add),
                        _permit: permit,
                    };
                    return (stream, peer, admitted);
                }
                Err(error) if is_client_gone(&error) => {}
                Err(error) => {
                    log_accept_error(&error);
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    /// Waits for room for one more connection.
    async fn permit(&mut self) -> OwnedSemaphorePermit {
        loop {
            let now_full = self.permits.available_permits() == 0;
            if now_full && !self.full {
                tracing::warn!("the connection limit is reached; new clients wait");
            }
            self.full = now_full;
            if let Some(unauthenticated) = &self.unauthenticated {
                match unauthenticated.make_room(now_full) {
                    Room::Free => {}
                    Room::Evicted => self.metrics.count(ListenerLimit::ConnectionsUnauthenticated),
                    Room::In(wait) => {
                        // A connection that leaves by itself makes room earlier.
                        let _ = timeout(wait, unauthenticated.left()).await;
                        continue;
                    }
                }
            }
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
                std::future::pending().await // never: the semaphore is not closed
            };
            return permit;
        }
    }
}

fn log_accept_error(error: &io::Error) {
    tracing::error!(error = error as &dyn std::error::Error, "cannot accept connections; retrying");
}

/// Whether the client disconnected before it was accepted.
fn is_client_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// `None` if the client did not open its connection in time, or had to make room.
async fn open(
    stream: TcpStream,
    peer: SocketAddr,
    admitted: AdmittedConnection,
    tls: Option<ServerTls>,
    limits: ConnectionLimits,
    metrics: LimitMetrics,
) -> Option<ServerConnection> {
    let authentication = admitted.authentication.clone();
    let evicted = async {
        match &authentication {
            Some(authentication) => authentication.evicted().await,
            None => std::future::pending().await,
        }
    };
    let opened = async {
        let opening = open_within_limits(stream, peer, admitted, tls, limits.protocol);
        match limits.opening {
            Some(limit) => {
                timeout(limit, opening).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            }
            None => opening.await,
        }
    };
    let error = tokio::select! {
        opened = opened => match opened {
            Ok(connection) => return Some(connection),
            Err(error) => error,
        },
        () = evicted => return None,
    };
    if error.kind() == io::ErrorKind::TimedOut {
        metrics.count(ListenerLimit::OpeningTimeout);
    }
    tracing::debug!(%peer, error = &error as &dyn std::error::Error, "a client did not open its connection");
    None
}

async fn open_within_limits(
    stream: TcpStream,
    peer: SocketAddr,
    admitted: AdmittedConnection,
    tls: Option<ServerTls>,
    protocol: ListenerProtocol,
) -> io::Result<ServerConnection> {
    let socket = match tls {
        None => ServerSocket::Plain(stream),
        Some(tls) => match first_byte(&stream).await? {
            // No HTTP request and no HTTP/2 preface begins with this byte.
            byte if byte != TLS_HANDSHAKE && tls.is_optional() => {
                tracing::debug!(%peer, "accepted a client without TLS");
                ServerSocket::Plain(stream)
            }
            // Boxed, because the state of a handshake is large and a client that sends nothing has none.
            _ => ServerSocket::Tls(Box::new(Box::pin(tls.accept(stream)).await?)),
        },
    };
    let mut connection = ServerConnection::new(socket, peer, admitted);
    if protocol == ListenerProtocol::Http2 {
        connection.read_http2_preface().await?;
    }
    Ok(connection)
}

async fn first_byte(stream: &TcpStream) -> io::Result<u8> {
    let mut byte = [0];
    match timeout(FIRST_BYTE_TIMEOUT, stream.peek(&mut byte)).await {
        Ok(Ok(0)) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(peeked) => peeked.map(|_| byte[0]),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
