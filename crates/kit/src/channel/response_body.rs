use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;
use tonic::Status;

use super::connections::{Connection, Connections};
use super::failure;
use super::retry::CallEnd;

/// The body of a response. It fails when the deadline of the call passes before it is complete. A status in its trailers
/// or an error may tell that the connection is to be left.
pub(super) struct ResponseBody {
    inner: Incoming,
    /// With the status of the call when it passes; `None` for a stream, which may never end.
    deadline: Option<(Pin<Box<Sleep>>, Status)>,
    over: bool,
    connections: Arc<Connections>,
    connection: Connection,
}

impl ResponseBody {
    pub(super) fn new(
        inner: Incoming,
        deadline: Option<(Pin<Box<Sleep>>, Status)>,
        connections: Arc<Connections>,
        connection: Connection,
    ) -> Self {
        Self { inner, deadline, over: false, connections, connection }
    }

    fn ended(&self, end: CallEnd) {
        if end.leaves_connection() {
            self.connections.leave(&self.connection);
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.over {
            return Poll::Ready(None);
        }
        // Frames that have arrived come first: they were in time even if the caller reads them late.
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Pending => {
                let Some((sleep, _)) = &mut self.deadline else { return Poll::Pending };
                if sleep.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.over = true;
                self.ended(CallEnd::TimedOut);
                Poll::Ready(self.deadline.take().map(|(_, expired)| Err(expired)))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(trailers) = frame.trailers_ref() {
                    self.ended(CallEnd::of_headers(trailers));
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.over = true;
                self.ended(CallEnd::of_error(&error));
                Poll::Ready(Some(Err(failure::transport(self.connections.dialer(), error))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
