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

use super::call::{Call, Verb};

/// The time was up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Late {
    /// Before the answer began.
    #[error("{call}: no answer within {within:?}")]
    Headers {
        /// What was asked.
        call: Call,
        /// How long was waited.
        within: Duration,
    },
    /// Before it was complete.
    #[error("{call}: the answer was not complete within {within:?}")]
    Body {
        /// What was asked.
        call: Call,
        /// How long was waited.
        within: Duration,
    },
}

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
    type Response = Response<Timed<R>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Timed<R>>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (call, within) = (Call::of(&request), self.within);
        let answer = self.inner.call(request);
        let mut deadline = Box::pin(tokio::time::sleep(within));
        async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer?,
                () = &mut deadline => return Err(Late::Headers { call, within }.into()),
            };
            let rest = (call.verb != Verb::Watch).then_some((deadline, Late::Body { call, within }));
            Ok(answer.map(|body| Timed { body: Box::pin(body), rest, over: false }))
        }
        .boxed()
    }
}

/// A body that must be complete in time.
pub struct Timed<R> {
    body: Pin<Box<R>>,
    /// The time for it and what is said when it is up; a watch has none.
    rest: Option<(Pin<Box<Sleep>>, Late)>,
    over: bool,
}

impl<R> http_body::Body for Timed<R>
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
        let this = &mut *self;
        let frame = this.body.as_mut().poll_frame(context);
        // What has arrived is given first: a caller who reads late has not been answered late.
        if frame.is_pending()
            && let Some((deadline, late)) = &mut this.rest
            && deadline.as_mut().poll(context).is_ready()
        {
            this.over = true;
            return Poll::Ready(Some(Err(late.clone().into())));
        }
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
