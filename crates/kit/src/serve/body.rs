//! Bodies of requests and responses that take part in the timeouts of their connection.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use super::timeouts::{ConnectionPhase, SharedPhase};

#[derive(Debug, thiserror::Error)]
#[error("the body did not arrive within {0:?}")]
struct ReadTimeout(Duration);

/// The body of a request, which must arrive within a timeout that starts at the end of its header.
pub(super) struct RequestBody<B> {
    inner: B,
    limit: Option<(Duration, Pin<Box<Sleep>>)>,
}

impl<B> RequestBody<B>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<axum::BoxError>,
{
    pub(super) fn body(inner: B, timeout: Option<Duration>) -> Body {
        // Most requests have no body and need no timer.
        if inner.is_end_stream() {
            return Body::empty();
        }
        let limit = timeout.map(|timeout| (timeout, Box::pin(tokio::time::sleep(timeout))));
        Body::new(Self { inner, limit })
    }
}

impl<B> http_body::Body for RequestBody<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some((timeout, sleep)) = &mut self.limit else { return Poll::Pending };
        sleep.as_mut().poll(cx).map(|()| Some(Err(ReadTimeout(*timeout).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a response. Once it is dropped, sent or not, the connection is idle.
pub(super) struct ResponseBody {
    inner: Body,
    phase: SharedPhase,
}

impl ResponseBody {
    pub(super) fn new(inner: Body, phase: SharedPhase) -> Self {
        Self { inner, phase }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.phase.set(ConnectionPhase::Idle);
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
