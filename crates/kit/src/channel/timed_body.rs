use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;
use tonic::Status;

/// The body of a response; fails with `expired` when the deadline of the call passes before it is complete.
pub(super) struct TimedBody {
    inner: tonic::body::Body,
    deadline: Pin<Box<Sleep>>,
    expired: Option<Status>,
}

impl TimedBody {
    pub(super) fn new(inner: tonic::body::Body, deadline: Pin<Box<Sleep>>, expired: Status) -> Self {
        Self { inner, deadline, expired: Some(expired) }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.expired.is_none() {
            return Poll::Ready(None);
        }
        // Frames that have arrived come first: they were in time even if the caller reads them late.
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Pending if self.deadline.as_mut().poll(context).is_ready() => {
                Poll::Ready(self.expired.take().map(Err))
            }
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.expired.is_none() || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
