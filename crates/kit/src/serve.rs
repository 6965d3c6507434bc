//! HTTP listeners.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;

use crate::config::{HostPort, ListenAddr};
use crate::tasks::Shutdown;

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

/// Serves until shutdown begins, then until the requests under way are answered.
pub async fn serve(listener: TcpListener, router: Router, shutdown: Shutdown) -> io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown.begun()).await
}
