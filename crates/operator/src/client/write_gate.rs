//! Sends writes only while this operator leads.
//!
//! The permit is checked twice: before the request is handed to the connection, and again when the connection reads the
//! body, which is the last moment before the bytes are sent. In between the request may wait for a connection, and the
//! process may be frozen; the API server does not act on a request whose body does not arrive.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::future::{self, BoxFuture, FutureExt as _, TryFutureExt as _};
use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use kube::client::Body;
use tower::{BoxError, Service};

use crate::lease::Permit;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not sent: this operator does not have the lease")]
pub struct NotLeading;

/// Whether the request was not sent, because another operator leads: [`NotLeading`] is the error or one of its causes.
pub fn refused_by_gate(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(<dyn Error>::is::<NotLeading>)
}

fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The layer right before the connection.
#[derive(Clone, Debug)]
pub struct WriteGate<S> {
    connection: S,
    permit: Permit,
}

impl<S> WriteGate<S> {
    /// Sends writes while `permit` holds.
    pub fn new(connection: S, permit: Permit) -> Self {
        Self { connection, permit }
    }
}

impl<S, R> Service<Request<Body>> for WriteGate<S>
where
    S: Service<
            Request<GatedBody>,
            Response = Response<R>,
            Future: Send + 'static,
            Error: Into<BoxError> + 'static,
        >,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<R>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connection.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let permit = if is_write(request.method()) { self.permit.clone() } else { Permit::always() };
        if !permit.holds() {
            return future::ready(Err(NotLeading.into())).boxed();
        }
        self.connection.call(request.map(|body| GatedBody { body, permit })).map_err(Into::into).boxed()
    }
}

/// A body that can be read only while the permit holds.
#[derive(Debug)]
pub struct GatedBody {
    body: Body,
    permit: Permit,
}

impl http_body::Body for GatedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if !self.permit.holds() {
            return Poll::Ready(Some(Err(NotLeading.into())));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt as _;
    use hyper_util::client::legacy;
    use hyper_util::rt::TokioExecutor;
    use rstest::rstest;
    use tokio::time::Instant;
    use tower::{ServiceExt as _, service_fn};
    use vmafx_testkit::http_server::{HttpServer, Reply};

    use super::*;

    fn request(method: &str) -> Request<Body> {
        Request::builder().method(method).body(Body::from(b"{}".to_vec())).unwrap()
    }

    /// Waits before it reads the body, as a connection does that has to be opened first.
    async fn slow_connection(request: Request<GatedBody>) -> Result<Response<Bytes>, BoxError> {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(Response::new(request.into_body().collect().await?.to_bytes()))
    }

    #[rstest]
    #[case::read("GET", true)]
    #[case::head("HEAD", true)]
    #[case::options("OPTIONS", true)]
    #[case::create("POST", false)]
    #[case::update("PUT", false)]
    #[case::patch("PATCH", false)]
    #[case::delete("DELETE", false)]
    #[case::unknown("PROPFIND", false)]
    #[tokio::test(start_paused = true)]
    async fn only_reads_pass_without_a_permit(#[case] method: &str, #[case] passes: bool) {
        let answer =
            WriteGate::new(service_fn(slow_connection), Permit::never()).oneshot(request(method)).await;
        assert_eq!(answer.is_ok(), passes);
        assert_eq!(answer.err().is_some_and(|error| refused_by_gate(error.as_ref())), !passes);
    }

    #[rstest]
    #[case::in_time(3, true)]
    #[case::too_late(1, false)]
    #[tokio::test(start_paused = true)]
    async fn a_body_is_not_sent_once_the_permit_has_expired(#[case] seconds: u64, #[case] passes: bool) {
        let permit = Permit::never();
        permit.hold_until(Instant::now() + Duration::from_secs(seconds));
        let answer = WriteGate::new(service_fn(slow_connection), permit).oneshot(request("PATCH")).await;
        assert_eq!(answer.is_ok(), passes);
        assert_eq!(answer.err().is_some_and(|error| refused_by_gate(error.as_ref())), !passes);
    }

    #[tokio::test]
    async fn a_connection_does_not_send_a_request_whose_body_is_refused() {
        let server = HttpServer::start(|_| Reply::status(200));
        let connection = legacy::Client::builder(TokioExecutor::new()).build_http();
        let mut request = request("PUT");
        *request.uri_mut() = server.url("/api/v1/pods").parse().unwrap();
        let permit = Permit::never();
        let error = connection.request(request.map(|body| GatedBody { body, permit })).await.unwrap_err();
        assert!(refused_by_gate(&error), "{error:?}");
        assert!(server.requests().iter().all(|request| request.body.is_empty()), "{:?}", server.requests());
    }

    #[test]
    fn a_refusal_is_found_beneath_other_errors() {
        let wrapped = |error: BoxError| kube::Error::Service(error);
        assert!(refused_by_gate(&wrapped(NotLeading.into())));
        assert!(refused_by_gate(&wrapped(wrapped(NotLeading.into()).into())));
        assert!(!refused_by_gate(&wrapped("no route to host".into())));
    }
}
