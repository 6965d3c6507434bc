//! The channel as a tower service, which generated clients take.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use jiff::Timestamp;
use tokio::time::Sleep;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Channel;
use tower::{Service, ServiceExt};

use super::deadline::Deadline;
use super::failure;
use super::timed_body::TimedBody;
use super::token::TokenSource;
use crate::config::HostPort;

/// A connection that sends the token with every call and applies a deadline to it. Cloning is cheap; all clones use
/// the same connection. Pass it to any generated client: `VmafxControllerClient::new(channel.clone())`.
#[derive(Clone, Debug)]
pub struct GrpcChannel {
    connection: Channel,
    settings: Arc<CallSettings>,
}

#[derive(Debug)]
struct CallSettings {
    target: HostPort,
    token: Option<TokenSource>,
    deadline: Duration,
    ca_file: Option<PathBuf>,
}

impl GrpcChannel {
    pub(super) fn new(
        connection: Channel,
        target: HostPort,
        token: Option<TokenSource>,
        deadline: Duration,
        ca_file: Option<PathBuf>,
    ) -> Self {
        Self { connection, settings: Arc::new(CallSettings { target, token, deadline, ca_file }) }
    }

    pub fn target(&self) -> &HostPort {
        &self.settings.target
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
        let (connection, settings) = (self.connection.clone(), Arc::clone(&self.settings));
        let deadline = Deadline::of(&mut request, settings.deadline);
        let mut sleep = Box::pin(tokio::time::sleep(deadline.after));
        Box::pin(async move {
            let response = tokio::select! {
                // This timer first: tonic's own reads the same header, and its error does not name the server.
                biased;
                () = &mut sleep => return Err(failure::deadline_exceeded(&settings.target, deadline.after)),
                response = settings.send(connection, request) => response?,
            };
            Ok(if deadline.covers_body { settings.timed(response, sleep, deadline.after) } else { response })
        })
    }
}

impl CallSettings {
    async fn send(&self, connection: Channel, mut request: Request<Body>) -> Result<Response<Body>, Status> {
        if let Some(token) = &self.token {
            let header = token.authorization(Timestamp::now()).await.map_err(failure::token)?;
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        let response = connection.oneshot(request).await;
        response.map_err(|error| failure::transport(&self.target, self.ca_file.as_deref(), error))
    }

    fn timed(&self, response: Response<Body>, sleep: Pin<Box<Sleep>>, after: Duration) -> Response<Body> {
        let expired = failure::deadline_exceeded(&self.target, after);
        response.map(|body| Body::new(TimedBody::new(body, sleep, expired)))
    }
}
