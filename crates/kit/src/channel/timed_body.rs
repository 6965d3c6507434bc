//! The rest of an answer under the deadline of its call.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;
use tonic::Status;

/// Ends with `late` when the time is up before the answer is complete.
pub(super) struct TimedBody {
    inner: tonic::body::Body,
    deadline: Pin<Box<Sleep>>,
    late: Option<Status>,
}

impl TimedBody {
    pub(super) fn new(inner: tonic::body::Body, deadline: Pin<Box<Sleep>>, late: Status) -> Self {
        Self { inner, deadline, late: Some(late) }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.late.is_none() {
            return Poll::Ready(None);
        }
        // What has arrived is given first: a caller who reads late has not been answered late.
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Pending if self.deadline.as_mut().poll(context).is_ready() => {
                Poll::Ready(self.late.take().map(Err))
            }
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.late.is_none() || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
