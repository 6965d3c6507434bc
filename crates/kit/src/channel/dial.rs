//! Makes a connection: resolves the addresses anew, tries them in the order of preference, and starts HTTP/2.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::rt::Executor;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::order::{self, Failures};
use super::tls::{ClientTls, HandshakeError};
use crate::config::{HostPort, HostPorts};
use crate::random;

/// HTTP/2 keep-alive interval, on idle connections too: a peer that vanished is then detected before the next call
/// has to wait for it.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The next address is tried after this time although the one before may still answer.
const STAGGER: Duration = Duration::from_millis(250);

pub(super) type Sender = SendRequest<Full<Bytes>>;

#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    #[error("cannot resolve the host name {host}")]
    Resolve {
        host: String,
        #[source]
        source: io::Error,
    },
    #[error("the host name {host} has no address")]
    NoAddress { host: String },
    #[error("cannot connect to {address}")]
    Connect {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("{address} did not accept the connection within {after:?}")]
    TimedOut { address: SocketAddr, after: Duration },
    #[error(transparent)]
    Tls(HandshakeError),
    #[error("cannot start HTTP/2")]
    Http(#[source] hyper::Error),
}

#[derive(Debug)]
pub(super) struct Dialer {
    pub(super) targets: HostPorts,
    pub(super) tls: Option<ClientTls>,
    /// For one address: from the first packet to the end of the TLS handshake.
    pub(super) connect_timeout: Duration,
}

trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Socket for T {}

/// The result of a dial, and the addresses that failed on the way.
pub(super) struct Dialled {
    pub(super) connection: Result<(SocketAddr, Sender), DialError>,
    pub(super) failed: Vec<SocketAddr>,
}

impl Dialer {
    pub(super) async fn dial(&self, failures: &Failures) -> Dialled {
        let mut failed = Vec::new();
        let connection = match self.resolve().await {
            Ok(mut candidates) => {
                order::sort_by_preference(&mut candidates, failures, Instant::now(), random::fraction);
                self.first_to_connect(candidates, &mut failed).await
            }
            Err(error) => Err(error),
        };
        Dialled { connection, failed }
    }

    /// The addresses of all targets. A name that cannot be resolved is an error only if no other target has an address.
    async fn resolve(&self) -> Result<Vec<(&HostPort, SocketAddr)>, DialError> {
        let mut candidates: Vec<(&HostPort, SocketAddr)> = Vec::new();
        let mut problem = None;
        for target in self.targets.iter() {
            let host = || target.host().to_owned();
            match tokio::net::lookup_host((target.host(), target.port())).await {
                Ok(addresses) => candidates.extend(addresses.map(|address| (target, address))),
                Err(source) => problem = Some(DialError::Resolve { host: host(), source }),
            }
            if candidates.is_empty() && problem.is_none() {
                problem = Some(DialError::NoAddress { host: host() });
            }
        }
        candidates.sort_by_key(|(_, address)| *address);
        candidates.dedup_by_key(|(_, address)| *address);
        match problem {
            Some(problem) if candidates.is_empty() => Err(problem),
            _ => Ok(candidates),
        }
    }

    async fn first_to_connect(
        &self,
        candidates: Vec<(&HostPort, SocketAddr)>,
        failed: &mut Vec<SocketAddr>,
    ) -> Result<(SocketAddr, Sender), DialError> {
        let mut waiting = candidates.into_iter();
        let mut attempts = FuturesUnordered::new();
        attempts.extend(waiting.next().map(|(target, address)| self.attempt(target, address)));
        loop {
            let next_is_due = async {
                if waiting.len() == 0 {
                    std::future::pending::<()>().await;
                }
                sleep(STAGGER).await;
            };
            let failure = tokio::select! {
                Some((address, result)) = attempts.next() => match result {
                    Ok(sender) => return Ok((address, sender)),
                    Err(error) => Some((address, error)),
                },
                () = next_is_due => None,
            };
            attempts.extend(waiting.next().map(|(target, address)| self.attempt(target, address)));
            if let Some((address, error)) = failure {
                failed.push(address);
                if attempts.is_empty() {
                    return Err(error);
                }
            }
        }
    }

    async fn attempt(
        &self,
        target: &HostPort,
        address: SocketAddr,
    ) -> (SocketAddr, Result<Sender, DialError>) {
        let connected = timeout(self.connect_timeout, self.connect(target, address)).await;
        let after = self.connect_timeout;
        (address, connected.unwrap_or(Err(DialError::TimedOut { address, after })))
    }

    async fn connect(&self, target: &HostPort, address: SocketAddr) -> Result<Sender, DialError> {
        if let Some(tls) = &self.tls {
            tls.forget_alert();
        }
        let stream = TcpStream::connect(address).await;
        let stream = stream.map_err(|source| DialError::Connect { address, source })?;
        // Requests are written whole; Nagle's algorithm would only delay their tail.
        let _ = stream.set_nodelay(true);
        let socket: Box<dyn Socket> = match &self.tls {
            Some(tls) => Box::new(tls.handshake(stream, target).await.map_err(DialError::Tls)?),
            None => Box::new(stream),
        };
        let executor = TokioExecutor::new();
        let (sender, connection) = http2::Builder::new(executor.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(socket))
            .await
            .map_err(DialError::Http)?;
        // The connection outlives the channel while a response is still read, so it belongs to no task set.
        executor.execute(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%address, error = &error as &dyn std::error::Error, "the connection ended");
            }
        });
        Ok(sender)
    }
}
