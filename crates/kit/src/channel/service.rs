//! The channel as a tower service, which generated clients take.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::Status;
use tonic::body::Body;
use tower::Service;

use super::connections::{Connection, Connections};
use super::deadline::{Deadline, RepeatableCall};
use super::failure;
use super::response_body::ResponseBody;
use super::retry::CallEnd;
use super::tls::ClientTls;
use super::token::TokenSource;
use crate::config::HostPorts;

/// A connection that sends the token with every call and applies a deadline to it. Cloning is cheap; all clones use
/// the same connection. Pass it to any generated client: `VmafxControllerClient::new(channel.clone())`.
#[derive(Clone, Debug)]
pub struct GrpcChannel(Arc<CallSettings>);

#[derive(Debug)]
pub(super) struct CallSettings {
    pub(super) connections: Arc<Connections>,
    pub(super) scheme: Scheme,
    pub(super) authority: Authority,
    pub(super) token: Option<TokenSource>,
    pub(super) deadline: Duration,
}

impl GrpcChannel {
    pub(super) fn new(settings: CallSettings) -> Self {
        Self(Arc::new(settings))
    }

    pub fn target(&self) -> &HostPorts {
        &self.0.connections.dialer().targets
    }

    /// PEM of the authorities that this client trusts, unless they are those of the system. Blocks on file I/O.
    pub(crate) fn authorities_pem(&self) -> Option<Vec<u8>> {
        self.0.connections.dialer().tls.as_ref()?.authorities_pem()
    }

    /// The client's own certificate with its intermediate ones; empty if there is none. Blocks on file I/O.
    pub(crate) fn client_chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.connections.dialer().tls.as_ref().map(ClientTls::chain).unwrap_or_default()
    }
}

impl Service<Request<Body>> for GrpcChannel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Response<Body>, Status>>;

    /// Always ready: waiting for the connection counts against the deadline, which only `call` knows.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let settings = Arc::clone(&self.0);
        let deadline = Deadline::of(&mut request, settings.deadline);
        let until = Instant::now() + deadline.after;
        Box::pin(async move {
            let prepared = timeout_at(until, settings.prepare(request)).await;
            let call = prepared.unwrap_or_else(|_| Err(settings.expired(deadline)))?;
            settings.send(call, deadline, until).await
        })
    }
}

/// A request that can be sent more than once. Its body is in memory: no call of the contract has a stream of requests.
struct PreparedCall {
    head: http::request::Parts,
    body: Bytes,
    repeatable: bool,
}

impl PreparedCall {
    fn request(&self) -> Request<Full<Bytes>> {
        Request::from_parts(self.head.clone(), Full::new(self.body.clone()))
    }
}

impl CallSettings {
    async fn prepare(&self, request: Request<Body>) -> Result<PreparedCall, Status> {
        let (mut head, body) = request.into_parts();
        if let Some(token) = &self.token {
            let header = token.authorization(Timestamp::now()).await.map_err(failure::token)?;
            head.headers.insert(AUTHORIZATION, header);
        }
        let path = head.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let uri = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        head.uri = uri.path_and_query(path).build().map_err(|error| Status::from_error(Box::new(error)))?;
        let repeatable = head.extensions.get::<RepeatableCall>().is_some();
        Ok(PreparedCall { head, body: body.collect().await?.to_bytes(), repeatable })
    }

    /// Sends the call until it was processed, or no further try is worth it.
    async fn send(
        &self,
        call: PreparedCall,
        deadline: Deadline,
        until: Instant,
    ) -> Result<Response<Body>, Status> {
        let mut tries = 0;
        loop {
            tries += 1;
            let connection = match timeout_at(until, self.connections.get()).await {
                Ok(Ok(connection)) => connection,
                Ok(Err(error)) => {
                    if self.is_retried(CallEnd::NotProcessed, &call, tries, until) {
                        continue;
                    }
                    return Err(failure::transport(self.connections.dialer(), error));
                }
                Err(_) => return Err(self.expired(deadline)),
            };
            // Half of the time, so that a server that does not answer leaves some for another one.
            let now = Instant::now();
            let try_until = if call.repeatable { now + (until - now) / 2 } else { until };
            let mut sender = connection.sender.clone();
            let (end, result) = match timeout_at(try_until, sender.try_send_request(call.request())).await {
                Ok(Ok(response)) => {
                    let end = CallEnd::of_headers(response.headers());
                    (end, Ok(response))
                }
                Ok(Err(mut unsent)) => {
                    let not_sent = unsent.take_message().is_some();
                    let end =
                        if not_sent { CallEnd::NotProcessed } else { CallEnd::of_error(unsent.error()) };
                    (end, Err(failure::transport(self.connections.dialer(), unsent.into_error())))
                }
                Err(_) => (CallEnd::TimedOut, Err(self.expired(deadline))),
            };
            if end.leaves_connection() {
                self.connections.leave(&connection);
            } else {
                self.connections.served(&connection);
            }
            if !self.is_retried(end, &call, tries, until) {
                return result.map(|response| self.response(response, connection, deadline, until));
            }
        }
    }

    fn is_retried(&self, end: CallEnd, call: &PreparedCall, tries: u32, until: Instant) -> bool {
        end.is_retried(call.repeatable, tries) && Instant::now() < until && self.connections.dials_soon()
    }

    fn response(
        &self,
        response: Response<Incoming>,
        connection: Connection,
        deadline: Deadline,
        until: Instant,
    ) -> Response<Body> {
        let deadline = deadline.covers_body.then(|| (Box::pin(sleep_until(until)), self.expired(deadline)));
        let connections = Arc::clone(&self.connections);
        response.map(|body| Body::new(ResponseBody::new(body, deadline, connections, connection)))
    }

    fn expired(&self, deadline: Deadline) -> Status {
        failure::deadline_exceeded(&self.connections.dialer().targets, deadline.after)
    }
}
