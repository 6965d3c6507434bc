//! HTTP/1.1 over the connections of a listener.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use futures::StreamExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::body::{Answer, Punctual};
use super::connection::Connection;
use super::incoming::incoming;
use super::limits::HttpLimits;
use super::timed::{Phase, SharedPhase, Timed};
use crate::tasks::Shutdown;
use crate::tls::ServerTls;

/// How an HTTP listener serves.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    /// What clients may take of us.
    pub limits: HttpLimits,
    /// Encryption, if any.
    pub tls: Option<ServerTls>,
}

/// Serves until shutdown begins, then until the requests under way are answered.
pub async fn serve_with(
    listener: TcpListener,
    router: Router,
    options: HttpOptions,
    shutdown: Shutdown,
) -> io::Result<()> {
    let HttpOptions { limits, tls } = options;
    let mut connections = JoinSet::new();
    {
        let mut incoming = pin!(incoming(listener, tls, limits.connections));
        loop {
            tokio::select! {
                () = shutdown.begun() => break,
                Some(connection) = incoming.next() => {
                    connections.spawn(one(connection, router.clone(), limits, shutdown.clone()));
                }
                // The panic hook has told already of a handler that panicked; its connection is closed.
                Some(_) = connections.join_next() => {}
            }
        }
    }
    while connections.join_next().await.is_some() {}
    Ok(())
}

async fn one(connection: Connection, router: Router, limits: HttpLimits, shutdown: Shutdown) {
    let peer = connection.peer();
    let phase = SharedPhase::new();
    let seen = phase.clone();
    let service = service_fn(move |request: http::Request<Incoming>| {
        phase.set(Phase::Busy);
        let (router, phase) = (router.clone(), phase.clone());
        async move {
            let mut request = request.map(|body| Punctual::body(body, limits.read));
            request.extensions_mut().insert(ConnectInfo(peer));
            let response = router.oneshot(request).await?;
            Ok::<_, Infallible>(response.map(|body: Body| Answer::new(body, phase)))
        }
    });
    let io = TokioIo::new(Timed::new(connection, seen.clone(), limits));
    let mut server = http1::Builder::new();
    // The real timeouts are those of `Timed`, which counts while it is asked for bytes. Only with a timeout of its
    // own does hyper ask as soon as an answer is sent; without one it leaves a resting connection alone.
    server.timer(TokioTimer::new()).header_read_timeout(Duration::from_hours(24 * 365));
    server.max_header_size(limits.header_bytes);
    // Hyper's buffer must hold a head, and cannot be smaller than this.
    server.max_buf_size(limits.header_bytes.max(64 * 1024));
    let mut serving = pin!(server.serve_connection(io, service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = shutdown.begun() => {
            // Nothing was ever asked, so nobody must wait until the client says so.
            if seen.get() == Phase::Fresh {
                return;
            }
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "a connection ended early");
    }
}
