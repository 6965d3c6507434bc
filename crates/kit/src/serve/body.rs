//! Bodies that are timed: requests' until they are read, answers' until they are written.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use super::timed::{Phase, SharedPhase};

/// Why a request's body was not read to its end.
#[derive(Debug, thiserror::Error)]
#[error("the body did not arrive within {0:?}")]
struct Late(Duration);

/// A request's body that must arrive within a deadline, counted from its head.
pub(super) struct Punctual<B> {
    inner: B,
    limit: Option<(Duration, Pin<Box<Sleep>>)>,
}

impl<B> Punctual<B>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<axum::BoxError>,
{
    pub(super) fn body(inner: B, within: Option<Duration>) -> Body {
        // Most requests have no body, and need no timer.
        if inner.is_end_stream() {
            return Body::empty();
        }
        let limit = within.map(|within| (within, Box::pin(tokio::time::sleep(within))));
        Body::new(Self { inner, limit })
    }
}

impl<B> http_body::Body for Punctual<B>
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
        let Some((within, sleep)) = &mut self.limit else { return Poll::Pending };
        sleep.as_mut().poll(cx).map(|()| Some(Err(Late(*within).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// An answer's body. When it is done with, sent or not, the connection is idle.
pub(super) struct Answer {
    inner: Body,
    phase: SharedPhase,
}

impl Answer {
    pub(super) fn new(inner: Body, phase: SharedPhase) -> Self {
        Self { inner, phase }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.phase.set(Phase::Idle);
    }
}

impl http_body::Body for Answer {
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
