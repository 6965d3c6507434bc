//! HTTP/1.1 on the connections of a listener.

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

use super::body::{RequestBody, ResponseBody};
use super::calls::RequestAuthorization;
use super::connection::ServerConnection;
use super::incoming::incoming;
use super::limits::{ConnectionLimits, HttpLimits};
use super::refused::LimitMetrics;
use super::timeouts::{ConnectionPhase, SharedPhase, TimedConnection};
use crate::tasks::Shutdown;
use crate::tls::ServerTls;

/// Hyper panics below this.
const MIN_BUFFER_BYTES: usize = 8192;

#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    pub limits: HttpLimits,
    pub tls: Option<ServerTls>,
    pub metrics: LimitMetrics,
}

/// Serves until shutdown begins, then until the requests in flight are answered.
pub async fn serve_with(
    listener: TcpListener,
    router: Router,
    options: HttpOptions,
    shutdown: Shutdown,
) -> io::Result<()> {
    let HttpOptions { limits, tls, metrics } = options;
    let mut connections = JoinSet::new();
    {
        let mut incoming = pin!(incoming(listener, tls, ConnectionLimits::http1(&limits), metrics));
        loop {
            tokio::select! {
                () = shutdown.begun() => break,
                Some(connection) = incoming.next() => {
                    connections.spawn(serve_connection(connection, router.clone(), limits, shutdown.clone()));
                }
                // The panic hook has already logged a handler that panicked; its connection is closed.
                Some(_) = connections.join_next() => {}
            }
        }
    }
    while connections.join_next().await.is_some() {}
    Ok(())
}

async fn serve_connection(
    connection: ServerConnection,
    router: Router,
    limits: HttpLimits,
    shutdown: Shutdown,
) {
    let peer = connection.peer();
    let admitted = connection.admitted.clone();
    let authorization = RequestAuthorization { connection: admitted.authentication.clone(), call: None };
    let phase = SharedPhase::new();
    let shared_phase = phase.clone();
    let service = service_fn(move |request: http::Request<Incoming>| {
        phase.set(ConnectionPhase::Busy);
        let (router, phase, authorization) = (router.clone(), phase.clone(), authorization.clone());
        async move {
            let mut request = request.map(|body| RequestBody::body(body, limits.read));
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(authorization);
            let response = router.oneshot(request).await?;
            Ok::<_, Infallible>(response.map(|body: Body| ResponseBody::new(body, phase)))
        }
    });
    let io = TokioIo::new(TimedConnection::new(connection, shared_phase.clone(), limits));
    let mut server = http1::Builder::new();
    // `TimedConnection` enforces the timeouts, and its timers run only while hyper polls it for bytes. Hyper polls an
    // idle connection only if it has a header timeout of its own, so it gets one that never expires in practice.
    server.timer(TokioTimer::new()).header_read_timeout(Duration::from_hours(24 * 365));
    server.max_header_size(limits.header_bytes);
    // Hyper's buffer must hold a whole header, and hyper has no smaller one.
    server.max_buf_size(limits.header_bytes.max(MIN_BUFFER_BYTES));
    let mut serving = pin!(server.serve_connection(io, service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = admitted.evicted() => return,
        () = shutdown.begun() => {
            // A connection without a request has nothing to finish, and its client may never send one.
            if shared_phase.get() == ConnectionPhase::New {
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
