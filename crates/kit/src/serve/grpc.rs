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
//! | the certificate of the client expires                 | `VMAFX_GRPC_MAX_CONNECTION_AGE_GRACE`                  |
//! | the client has begun no call for [`FIRST_CALL_TIMEOUT`]| there are none                                        |
//!
//! A connection that makes room for others (`serve/unauthenticated.rs`) is closed without a GOAWAY.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::extract::ConnectInfo;
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
use super::calls::{CallAdmission, GrpcLimits, OpenCall, RequestAuthorization};
use super::connection::{AdmittedConnection, ServerConnection};
use super::refused::ListenerLimit;
use super::request_body::{CallBody, LimitedBody};
use super::unauthenticated::ConnectionAuthentication;
use crate::channel::requested_timeout;
use crate::health::ServingSignal;
use crate::random;
use crate::tasks::{BoxError, Shutdown};
use crate::tls::ClientCertificate;

/// HTTP/2 keep-alive interval. Its timer runs for every connection, active ones too, so a shorter interval costs CPU
/// time with a thousand idle nodes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(2);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Concurrent calls on one connection. A node has a handful; a proxy opens further connections.
const MAX_CONCURRENT_STREAMS: u32 = 256;

/// Bytes that a client may send before the server has read them, for one call and for all calls of a connection.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;

/// Bytes of a response that wait for a client that does not read. A reader of many streams may hold them all.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// A client connects because it has a call. One that sends half of a header holds its buffers for this long.
const FIRST_CALL_TIMEOUT: Duration = Duration::from_secs(30);

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
    limits: GrpcLimits,
) -> Result<(), std::convert::Infallible>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let admission = Arc::new(CallAdmission::new(limits));
    let mut open = JoinSet::new();
    {
        let mut connections = pin!(connections);
        loop {
            tokio::select! {
                () = lifetimes.shutdown.begun() => break,
                Some(connection) = connections.next() => {
                    open.spawn(serve_connection(
                        connection,
                        service.clone(),
                        lifetimes.clone(),
                        admission.clone(),
                    ));
                }
                // The panic hook has already logged a handler that panicked; its connection is closed.
                Some(_) = open.join_next() => {}
            }
        }
    }
    while open.join_next().await.is_some() {}
    Ok(())
}

async fn serve_connection<S, B>(
    connection: ServerConnection,
    service: S,
    lifetimes: GrpcLifetimes,
    admission: Arc<CallAdmission>,
) where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let peer = connection.peer();
    let admitted = connection.admitted.clone();
    let used = Arc::new(AtomicBool::new(false));
    let certificate = connection.client_certificate();
    let expires_in = certificate.as_ref().and_then(|certificate| certificate.expires_in(SystemTime::now()));
    let calls = ConnectionCalls {
        service,
        admission,
        admitted: admitted.clone(),
        peer,
        certificate,
        used: used.clone(),
    };
    let service = service_fn(move |request: Request<Incoming>| calls.clone().call(request));
    let mut server = http2::Builder::new(TokioExecutor::new());
    server
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_header_list_size(MAX_METADATA_BYTES);
    let mut serving = pin!(server.serve_connection(TokioIo::new(connection), service));
    let too_old = async {
        let age = lifetimes.age.of_connection(random::fraction());
        match age.into_iter().chain(expires_in).min() {
            Some(age) => sleep(age).await,
            None => std::future::pending().await,
        }
    };
    let unused = async {
        sleep(FIRST_CALL_TIMEOUT).await;
        if used.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let cause = tokio::select! {
        ended = serving.as_mut() => return log_end(peer, ended),
        () = lifetimes.shutdown.begun() => DrainCause::Shutdown,
        () = lifetimes.serving.lost() => DrainCause::NotServing,
        () = too_old => DrainCause::TooOld,
        () = unused => DrainCause::Unused,
        () = admitted.evicted() => return tracing::debug!(%peer, "closed a connection without an authorized call"),
    };
    serving.as_mut().graceful_shutdown();
    let Some(grace) = lifetimes.age.grace(cause) else { return log_end(peer, serving.await) };
    if let Ok(ended) = timeout(grace, serving).await {
        log_end(peer, ended);
    } else {
        tracing::debug!(%peer, ?cause, "closed a connection with unfinished calls");
    }
}

/// Calls the service for the requests of one connection, within their limits.
#[derive(Clone)]
struct ConnectionCalls<S> {
    service: S,
    admission: Arc<CallAdmission>,
    admitted: Arc<AdmittedConnection>,
    peer: std::net::SocketAddr,
    certificate: Option<ClientCertificate>,
    /// Whether the connection had a call.
    used: Arc<AtomicBool>,
}

impl<S, B> ConnectionCalls<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    async fn call(self, mut request: Request<Incoming>) -> Result<Response<Body>, S::Error> {
        self.used.store(true, Ordering::Relaxed);
        let limits = (self.admission.limits.methods)(request.uri().path());
        let connection = &self.admitted.authentication;
        let known = connection.as_ref().is_none_or(ConnectionAuthentication::is_authorized);
        let call = match self.admission.open(&self.admitted.peer, limits, known) {
            Ok(call) => call,
            Err(status) => return Ok(status.into_http()),
        };
        let authorization = RequestAuthorization { connection: connection.clone(), call: Some(call.clone()) };
        request.extensions_mut().insert(authorization);
        request.extensions_mut().insert(ConnectInfo(self.peer));
        if let Some(certificate) = self.certificate {
            request.extensions_mut().insert(certificate);
        }
        let requested = requested_timeout(request.headers());
        let request = request.map(|body| Body::new(LimitedBody::new(body, call.clone())));
        let response = match deadline(requested, limits.max_time) {
            None => self.service.oneshot(request).await?,
            Some((limit, owner)) => match timeout(limit, self.service.oneshot(request)).await {
                Ok(response) => response?,
                Err(_) => return Ok(deadline_status(limit, owner, &call).into_http()),
            },
        };
        Ok(response.map(|body| Body::new(CallBody::new(Body::new(body), call))))
    }
}

/// Who set the deadline of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeadlineOwner {
    Client,
    Method,
}

/// The earlier of the client's deadline and that of the method.
fn deadline(requested: Option<Duration>, max: Option<Duration>) -> Option<(Duration, DeadlineOwner)> {
    match (requested, max) {
        (Some(requested), Some(max)) if max < requested => Some((max, DeadlineOwner::Method)),
        (Some(requested), _) => Some((requested, DeadlineOwner::Client)),
        (None, max) => max.map(|max| (max, DeadlineOwner::Method)),
    }
}

fn deadline_status(limit: Duration, owner: DeadlineOwner, call: &OpenCall) -> Status {
    match owner {
        DeadlineOwner::Client => Status::deadline_exceeded("the deadline of the call has passed"),
        DeadlineOwner::Method => call.admission.timed_out(ListenerLimit::CallTimeout, limit),
    }
}

fn log_end(peer: std::net::SocketAddr, ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "a connection ended early");
    }
}
