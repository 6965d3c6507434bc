//! Listeners, and HTTP on them.
//!
//! [`listen`] opens a listener, [`incoming()`] accepts its connections, with or without TLS, and [`serve_with`]
//! (HTTP/1.1) or [`serve_grpc`] serves them. Time, bytes and the number of connections and
//! calls are limited, for each peer and for all: connections in `incoming`, calls and messages in `calls`, the timeouts of
//! HTTP/1.1 in `timeouts`.

mod age;
mod args;
mod body;
mod calls;
mod connection;
mod grpc;
mod grpc_args;
mod held;
mod http;
mod incoming;
mod limits;
mod message;
mod peers;
mod refused;
mod request_body;
mod timeouts;
mod unauthenticated;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;

use crate::config::{HostPort, ListenAddr};
use crate::tasks::Shutdown;

pub use age::ConnectionAge;
pub use args::{HttpArgs, ServeError};
pub use calls::{CallLimits, GrpcLimits, RequestAuthorization, RequestMessages};
pub use connection::ServerConnection;
pub use grpc::{GrpcLifetimes, serve_grpc};
pub use grpc_args::GrpcArgs;
pub use http::{HttpOptions, serve_with};
pub use incoming::incoming;
pub use limits::{ConnectionLimits, HttpLimits, ListenerProtocol};
pub use refused::{LimitMetrics, ListenerLimit};

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {addr} ({variable})")]
pub struct ListenError {
    pub variable: &'static str,
    pub addr: HostPort,
    #[source]
    pub source: io::Error,
}

/// Opens a listener; `None` when the address is off. `variable` is the one that set the address; the error names it.
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

/// Binds the IPv6 wildcard, which accepts IPv4 as well; on a kernel without IPv6, the IPv4 one. A port in use is an
/// error: its IPv4 half could be free, and IPv6 clients would then reach another program.
async fn every_interface(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await {
        Err(error) if !matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) => {
            TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await
        }
        other => other,
    }
}

/// Serves without TLS and with the default limits, until shutdown begins and the requests in flight are answered.
pub async fn serve(listener: TcpListener, router: Router, shutdown: Shutdown) -> io::Result<()> {
    serve_with(listener, router, HttpOptions::default(), shutdown).await
}
