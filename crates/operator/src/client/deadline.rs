//! An answer that does not come is an error, not a wait.

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

use super::api_call::{ApiCall, Verb};

/// The time was up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeadlineExceeded {
    /// Before the answer began.
    #[error("{call}: no answer within {within:?}")]
    Headers {
        /// What was asked.
        call: ApiCall,
        /// How long was waited.
        within: Duration,
    },
    /// Before it was complete.
    #[error("{call}: the answer was not complete within {within:?}")]
    Body {
        /// What was asked.
        call: ApiCall,
        /// How long was waited.
        within: Duration,
    },
}

/// A list may be all that there is of a kind, and servers before 1.33 write it down before they begin to answer: it may
/// take so many times longer than anything else. That is about the server's own limit for a request.
const LIST: u32 = 6;

/// Puts a deadline on the whole answer, or, for a watch, on its beginning.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineLayer(pub Duration);

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Deadline<S> {
        Deadline { inner, within: self.0 }
    }
}

/// See [`DeadlineLayer`].
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
        let within = if call.verb == Verb::List { self.within * LIST } else { self.within };
        let answer = self.inner.call(request);
        let mut deadline = Box::pin(tokio::time::sleep(within));
        async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer?,
                () = &mut deadline => return Err(DeadlineExceeded::Headers { call, within }.into()),
            };
            let rest =
                (call.verb != Verb::Watch).then_some((deadline, DeadlineExceeded::Body { call, within }));
            Ok(answer.map(|body| TimedBody { body: Box::pin(body), rest, over: false }))
        }
        .boxed()
    }
}

/// A body that must be complete in time.
pub struct TimedBody<R> {
    body: Pin<Box<R>>,
    /// The time for it and what is said when it is up; a watch has none.
    rest: Option<(Pin<Box<Sleep>>, DeadlineExceeded)>,
    over: bool,
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
        if self.over {
            return Poll::Ready(None);
        }
        // First, or a body that always has more would never be late.
        if let Some((deadline, late)) = &mut self.rest
            && deadline.as_mut().poll(context).is_ready()
        {
            let late = late.clone();
            self.over = true;
            return Poll::Ready(Some(Err(late.into())));
        }
        let frame = self.body.as_mut().poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
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

    /// A byte per second, for a quarter of an hour.
    fn trickle() -> impl http_body::Body<Data = Bytes, Error = BoxError> {
        StreamBody::new(stream::iter(0..1000).then(|_| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Frame::data(Bytes::from_static(b"x")))
        }))
    }

    /// Always more, and never a pause between.
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
    async fn a_server_that_does_not_answer_is_given_up(#[case] address: &str, #[case] said: &str) {
        let silent = service_fn(|_| future::pending::<Result<Response<Empty<Bytes>>, BoxError>>());
        let error = DeadlineLayer(TEN).layer(silent).oneshot(request(address)).await.err();
        assert_eq!(error.unwrap().to_string(), said);
    }

    #[rstest]
    #[case::trickle(trickle().boxed_unsync(), "/api/v1/pods", "list /api/v1/pods: the answer was not complete within 60s")]
    #[case::flood(flood().boxed_unsync(), "/api/v1/pods", "list /api/v1/pods: the answer was not complete within 60s")]
    #[case::one(trickle().boxed_unsync(), "/api/v1/namespaces/a/pods/b", "get /api/v1/namespaces/a/pods/b: the answer was not complete within 10s")]
    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_in_time_is_given_up(
        #[case] body: http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>,
        #[case] address: &str,
        #[case] said: &str,
    ) {
        let mut body = Some(body);
        let server = service_fn(move |_| future::ready(Ok(Response::new(body.take().unwrap()))));
        let answer = DeadlineLayer(TEN).layer(server).oneshot(request(address)).await.unwrap();
        let error = answer.into_body().collect().await.unwrap_err();
        assert_eq!(error.to_string(), said);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_was_answered_may_last() {
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
