//! Deadlines: an answer that is late is an error.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use kube::client::Body;
use tokio::time::Sleep;
use tower::{BoxError, Layer, Service};

use super::api_call::{ApiCall, ApiVerb};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeadlineExceeded {
    #[error("{call}: no answer within {within:?}")]
    Headers { call: ApiCall, within: Duration },
    #[error("{call}: the answer was not complete within {within:?}")]
    Body { call: ApiCall, within: Duration },
}

/// Factor for lists: a list has many objects, and API servers before 1.33 serialize all of it before they begin to answer.
/// The product is about the API server's own limit of a request.
const LIST_FACTOR: u32 = 6;

/// A deadline for the whole answer, or, for a watch, for its headers.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineLayer(pub Duration);

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Deadline<S> {
        Deadline { inner, within: self.0 }
    }
}

#[derive(Clone, Debug)]
pub struct Deadline<S> {
    inner: S,
    within: Duration,
}

impl<S, R> Service<Request<Body>> for Deadline<S>
where
    S: Service<Request<Body>, Response = Response<R>, Error = BoxError, Future: Send + 'static>,
{
    type Response = Response<TimedBody<R>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<TimedBody<R>>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = ApiCall::of(&request);
        let within = if call.verb == ApiVerb::List { self.within * LIST_FACTOR } else { self.within };
        let answer = self.inner.call(request);
        let mut deadline = Box::pin(tokio::time::sleep(within));
        async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer?,
                () = &mut deadline => return Err(DeadlineExceeded::Headers { call, within }.into()),
            };
            let error = DeadlineExceeded::Body { call: call.clone(), within };
            let deadline = (call.verb != ApiVerb::Watch).then_some((deadline, error));
            Ok(answer.map(|body| TimedBody { body: Box::pin(body), deadline, failed: false }))
        }
        .boxed()
    }
}

/// A body that must be complete before the deadline.
pub struct TimedBody<R> {
    body: Pin<Box<R>>,
    /// The deadline and its error; a watch has none.
    deadline: Option<(Pin<Box<Sleep>>, DeadlineExceeded)>,
    failed: bool,
}

impl<R> http_body::Body for TimedBody<R>
where
    R: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.failed {
            return Poll::Ready(None);
        }
        // The deadline is polled first, or a body that always has more data would never be late.
        if let Some((deadline, error)) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            let error = error.clone();
            self.failed = true;
            return Poll::Ready(Some(Err(error.into())));
        }
        let frame = self.body.as_mut().poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.failed || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{StreamExt as _, future, stream};
    use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
    use rstest::rstest;
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    const TEN: Duration = Duration::from_secs(10);

    fn request(uri: &str) -> Request<Body> {
        Request::builder().uri(uri).body(Body::empty()).unwrap()
    }

    /// One byte per second for a quarter of an hour.
    fn trickle() -> impl http_body::Body<Data = Bytes, Error = BoxError> {
        StreamBody::new(stream::iter(0..1000).then(|_| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Frame::data(Bytes::from_static(b"x")))
        }))
    }

    /// Data that is always ready.
    fn flood() -> impl http_body::Body<Data = Bytes, Error = BoxError> {
        StreamBody::new(stream::iter(0..1000).then(|_| async {
            tokio::time::advance(Duration::from_millis(100)).await;
            Ok(Frame::data(Bytes::from_static(b"x")))
        }))
    }

    #[rstest]
    #[case("/api/v1/pods?&watch=true", "watch /api/v1/pods: no answer within 10s")]
    #[case("/api/v1/pods", "list /api/v1/pods: no answer within 60s")]
    #[case("/api/v1/namespaces/a/pods/b", "get /api/v1/namespaces/a/pods/b: no answer within 10s")]
    #[tokio::test(start_paused = true)]
    async fn a_missing_answer_is_an_error(#[case] address: &str, #[case] message: &str) {
        let silent = service_fn(|_| future::pending::<Result<Response<Empty<Bytes>>, BoxError>>());
        let error = DeadlineLayer(TEN).layer(silent).oneshot(request(address)).await.err();
        assert_eq!(error.unwrap().to_string(), message);
    }

    #[rstest]
    #[case::trickle(trickle().boxed_unsync(), "/api/v1/pods", "list /api/v1/pods: the answer was not complete within 60s")]
    #[case::flood(flood().boxed_unsync(), "/api/v1/pods", "list /api/v1/pods: the answer was not complete within 60s")]
    #[case::one(trickle().boxed_unsync(), "/api/v1/namespaces/a/pods/b", "get /api/v1/namespaces/a/pods/b: the answer was not complete within 10s")]
    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_not_complete_in_time_is_an_error(
        #[case] body: http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>,
        #[case] address: &str,
        #[case] message: &str,
    ) {
        let mut body = Some(body);
        let server = service_fn(move |_| future::ready(Ok(Response::new(body.take().unwrap()))));
        let answer = DeadlineLayer(TEN).layer(server).oneshot(request(address)).await.unwrap();
        let error = answer.into_body().collect().await.unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_has_no_deadline_after_its_headers() {
        let server = service_fn(|_| future::ready(Ok::<_, BoxError>(Response::new(Box::pin(trickle())))));
        let answer =
            DeadlineLayer(TEN).layer(server).oneshot(request("/api/v1/pods?&watch=true")).await.unwrap();
        let events: Vec<_> = answer.into_body().into_data_stream().take(100).collect().await;
        assert!(events.iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_time_is_passed_on() {
        let server = service_fn(|_| future::ready(Ok::<_, BoxError>(Response::new(Full::from("all of it")))));
        let answer = DeadlineLayer(TEN).layer(server).oneshot(request("/api/v1/pods")).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "all of it");
    }
}
