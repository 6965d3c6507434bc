//! Listeners, and HTTP on them.
//!
//! A listener is opened by [`listen`], its connections are taken by [`incoming()`], encrypted or not, and spoken to
//! by [`serve_with`] (HTTP/1.1) or by tonic's `serve_with_incoming_shutdown` (gRPC). Every client is bounded in
//! time, in bytes and in number; `timed` tells how.

mod args;
mod body;
mod connection;
mod gathered;
mod http;
mod incoming;
mod limits;
mod timed;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;

use crate::config::{HostPort, ListenAddr};
use crate::tasks::Shutdown;

pub use args::{GrpcArgs, HttpArgs, ServeError};
pub use connection::Connection;
pub use gathered::Gathered;
pub use http::{HttpOptions, serve_with};
pub use incoming::incoming;
pub use limits::HttpLimits;

/// A listener that could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {addr} ({variable})")]
pub struct ListenError {
    /// The variable the address came from.
    pub variable: &'static str,
    /// The address.
    pub addr: HostPort,
    /// The system's answer.
    #[source]
    pub source: io::Error,
}

/// Opens a listener; `None` when the address is off. `variable` is where the address came from, for the error.
pub async fn listen(variable: &'static str, addr: &ListenAddr) -> Result<Option<TcpListener>, ListenError> {
    let ListenAddr::At(addr) = addr else { return Ok(None) };
    let listener = if addr.host().is_empty() {
        every_interface(addr.port()).await
    } else {
        TcpListener::bind((addr.host(), addr.port())).await
    };
    let listener = listener.map_err(|source| ListenError { variable, addr: addr.clone(), source })?;
    if let Ok(local) = listener.local_addr() {
        tracing::info!(addr = %local, variable, "listening");
    }
    Ok(Some(listener))
}

/// The IPv6 wildcard takes IPv4 as well; a kernel without IPv6 gets the IPv4 one. A port that is taken must not
/// fall through: the IPv4 half could be free, and half of the clients would reach another program.
async fn every_interface(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await {
        Err(error) if !matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) => {
            TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await
        }
        other => other,
    }
}

/// Serves without encryption and with the default limits, until shutdown begins and the requests under way are
/// answered.
pub async fn serve(listener: TcpListener, router: Router, shutdown: Shutdown) -> io::Result<()> {
    serve_with(listener, router, HttpOptions::default(), shutdown).await
}
