//! The channel as generated clients take it.

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

/// A pooled connection that sends the token and never waits without a deadline. Cloning is cheap; all clones use
/// the same connection. Give it to any generated client: `VmafxControllerClient::new(channel.clone())`.
#[derive(Clone, Debug)]
pub struct GrpcChannel {
    connection: Channel,
    rules: Arc<Rules>,
}

#[derive(Debug)]
struct Rules {
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
        Self { connection, rules: Arc::new(Rules { target, token, deadline, ca_file }) }
    }

    /// Whom it talks to.
    pub fn target(&self) -> &HostPort {
        &self.rules.target
    }
}

impl Service<Request<Body>> for GrpcChannel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Response<Body>, Status>>;

    /// Always ready: waiting for the connection belongs under the deadline, and only `call` knows that.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (connection, rules) = (self.connection.clone(), Arc::clone(&self.rules));
        let deadline = Deadline::of(&mut request, rules.deadline);
        let mut sleep = Box::pin(tokio::time::sleep(deadline.after));
        Box::pin(async move {
            let answer = tokio::select! {
                // Ours first: tonic's own timer reads the same header, and does not say who was late.
                biased;
                () = &mut sleep => return Err(failure::late(&rules.target, deadline.after)),
                answer = rules.send(connection, request) => answer?,
            };
            Ok(if deadline.whole { rules.timed(answer, sleep, deadline.after) } else { answer })
        })
    }
}

impl Rules {
    async fn send(&self, connection: Channel, mut request: Request<Body>) -> Result<Response<Body>, Status> {
        if let Some(token) = &self.token {
            let header = token.authorization(Timestamp::now()).await.map_err(failure::token)?;
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        let answer = connection.oneshot(request).await;
        answer.map_err(|error| failure::transport(&self.target, self.ca_file.as_deref(), error))
    }

    fn timed(&self, answer: Response<Body>, sleep: Pin<Box<Sleep>>, after: Duration) -> Response<Body> {
        let late = failure::late(&self.target, after);
        answer.map(|body| Body::new(TimedBody::new(body, sleep, late)))
    }
}
