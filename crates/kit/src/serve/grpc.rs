//! gRPC on the connections of a listener.
//!
//! A client keeps its connection for as long as it can, so the server ends connections that should move, by a GOAWAY: the
//! client sends its next call on a new connection, and the calls that run on the old one finish there.
//!
//! | when                                                  | the calls that run may take                            |
//! |-------------------------------------------------------|--------------------------------------------------------|
//! | shutdown begins                                       | as long as the listener's own drain timeout            |
//! | the process does not serve any more ([`ServingSignal`])| `VMAFX_GRPC_MAX_CONNECTION_AGE_GRACE`                 |
//! | the connection reaches `VMAFX_GRPC_MAX_CONNECTION_AGE`| `VMAFX_GRPC_MAX_CONNECTION_AGE_GRACE`                  |

use std::pin::pin;
use std::time::Duration;

use axum::body::Bytes;
use futures::{Stream, StreamExt};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::body::Body;
use tower::{Service, ServiceExt};

use super::age::{ConnectionAge, DrainCause};
use super::connection::ServerConnection;
use crate::channel::requested_timeout;
use crate::health::ServingSignal;
use crate::random;
use crate::tasks::{BoxError, Shutdown};

/// HTTP/2 keep-alive interval. Its timer runs for every connection, active ones too, so a shorter interval costs CPU
/// time with a thousand idle nodes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(2);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Concurrent calls on one connection. A node has a handful, a proxy many.
const MAX_CONCURRENT_STREAMS: u32 = 1024;

/// Uncompressed metadata of one call: a token of 16 KiB and the rest.
const MAX_METADATA_BYTES: u32 = 32 * 1024;

/// When connections end.
#[derive(Clone, Debug)]
pub struct GrpcLifetimes {
    pub age: ConnectionAge,
    pub serving: ServingSignal,
    pub shutdown: Shutdown,
}

/// Serves until shutdown begins, then until the calls in flight are answered.
pub async fn serve_grpc<S, B>(
    connections: impl Stream<Item = ServerConnection>,
    service: S,
    lifetimes: GrpcLifetimes,
) -> Result<(), std::convert::Infallible>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut open = JoinSet::new();
    {
        let mut connections = pin!(connections);
        loop {
            tokio::select! {
                () = lifetimes.shutdown.begun() => break,
                Some(connection) = connections.next() => {
                    open.spawn(serve_connection(connection, service.clone(), lifetimes.clone()));
                }
                // The panic hook has already logged a handler that panicked; its connection is closed.
                Some(_) = open.join_next() => {}
            }
        }
    }
    while open.join_next().await.is_some() {}
    Ok(())
}

async fn serve_connection<S, B>(connection: ServerConnection, service: S, lifetimes: GrpcLifetimes)
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let peer = connection.peer();
    let service = service_fn(move |request: Request<Incoming>| {
        let limit = requested_timeout(request.headers());
        let response = service.clone().oneshot(request.map(Body::new));
        async move {
            let response = match limit {
                None => response.await?,
                Some(limit) => {
                    let Ok(response) = timeout(limit, response).await else {
                        let status = Status::deadline_exceeded("the deadline of the call has passed");
                        return Ok(status.into_http());
                    };
                    response?
                }
            };
            Ok::<Response<Body>, S::Error>(response.map(Body::new))
        }
    });
    let mut server = http2::Builder::new(TokioExecutor::new());
    server
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_header_list_size(MAX_METADATA_BYTES);
    let mut serving = pin!(server.serve_connection(TokioIo::new(connection), service));
    let too_old = async {
        match lifetimes.age.of_connection(random::fraction()) {
            Some(age) => sleep(age).await,
            None => std::future::pending().await,
        }
    };
    let cause = tokio::select! {
        ended = serving.as_mut() => return log_end(peer, ended),
        () = lifetimes.shutdown.begun() => DrainCause::Shutdown,
        () = lifetimes.serving.lost() => DrainCause::NotServing,
        () = too_old => DrainCause::TooOld,
    };
    serving.as_mut().graceful_shutdown();
    let Some(grace) = lifetimes.age.grace(cause) else { return log_end(peer, serving.await) };
    if let Ok(ended) = timeout(grace, serving).await {
        log_end(peer, ended);
    } else {
        tracing::debug!(%peer, ?cause, "closed a connection with unfinished calls");
    }
}

fn log_end(peer: std::net::SocketAddr, ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "a connection ended early");
    }
}
