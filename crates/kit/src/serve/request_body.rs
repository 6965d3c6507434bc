//! The body of a gRPC request, with the limits of its call.
//!
//! An unfinished message is held back here. The decoder would reserve the whole length that the prefix claims, so that five
//! bytes could cost megabytes; here memory grows with the bytes that have arrived, and they are charged. A message that
//! arrives in one frame, as nearly all do, is passed on without a copy.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;

use super::calls::{MessageCharge, OpenCall, RequestMessages};
use super::held::HeldMessage;
use super::message::MessageFraming;
use super::refused::ListenerLimit;
use crate::tasks::BoxError;

pub(super) struct LimitedBody<B> {
    inner: B,
    framing: MessageFraming,
    charge: MessageCharge,
    /// The unfinished message.
    held: HeldMessage,
    /// The message that was held, and what completed it.
    complete: HeldMessage,
    completed_by: Option<Bytes>,
    /// Since when the client owes the rest of a message; `None` between two messages.
    owed_since: Option<Instant>,
    /// Exists once the client was waited for: most requests arrive whole.
    timer: Option<Pin<Box<Sleep>>>,
    failed: bool,
}

impl<B> LimitedBody<B> {
    pub(super) fn new(inner: B, call: Arc<OpenCall>) -> Self {
        let framing = MessageFraming::new(call.limits.max_message_bytes);
        let owed_since = Some(Instant::now());
        Self {
            inner,
            framing,
            charge: MessageCharge::new(call),
            held: HeldMessage::default(),
            complete: HeldMessage::default(),
            completed_by: None,
            owed_since,
            timer: None,
            failed: false,
        }
    }

    /// Takes a frame. Whatever it completes is ready afterwards.
    fn received(&mut self, mut data: Bytes) -> Result<(), Status> {
        let messages = self.framing.messages();
        let call = &self.charge.call;
        self.framing
            .receive(&data)
            .map_err(|_| call.admission.refused(ListenerLimit::MessageSize, call.limits.max_message_bytes))?;
        let (unfinished, completes) = (self.framing.unfinished_bytes(), self.framing.messages() > messages);
        if call.limits.messages == RequestMessages::Many {
            self.owed_since = match self.owed_since {
                _ if unfinished == 0 => None,
                Some(since) if !completes => Some(since),
                _ => Some(Instant::now()),
            };
        }
        self.charge.set(HeldMessage::memory(unfinished))?;
        if completes {
            let rest = data.split_off(data.len().saturating_sub(unfinished));
            self.complete = mem::take(&mut self.held);
            self.completed_by = Some(mem::replace(&mut data, rest));
        }
        self.held.push(&data);
        Ok(())
    }

    fn ready(&mut self) -> Option<Bytes> {
        self.complete.pop().or_else(|| self.completed_by.take())
    }

    /// Ready when the client has not sent what it owes in time.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<Status> {
        let Some(since) = self.owed_since else { return Poll::Pending };
        let admission = &self.charge.call.admission;
        let timeout = admission.limits.message_timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(since + timeout)));
        if timer.deadline() != since + timeout {
            timer.as_mut().reset(since + timeout);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(admission.timed_out(ListenerLimit::MessageTimeout, timeout))
    }
}

impl<B> Body for LimitedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.failed {
            return Poll::Ready(None);
        }
        let refused = loop {
            if let Some(bytes) = self.ready() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            match Pin::new(&mut self.inner).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data().map(|data| self.received(data)) {
                    Ok(Ok(())) => {}
                    Ok(Err(status)) => break status,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                // The decoder gets a message without its end, and says what is wrong with it.
                Poll::Ready(None) if !self.held.is_empty() => self.complete = mem::take(&mut self.held),
                Poll::Ready(other) => return Poll::Ready(other.map(|frame| frame.map_err(Into::into))),
                Poll::Pending => break ready!(self.poll_timeout(cx)),
            }
        };
        self.failed = true;
        Poll::Ready(Some(Err(refused.into())))
    }

    fn is_end_stream(&self) -> bool {
        let nothing_left = self.complete.is_empty() && self.completed_by.is_none() && self.held.is_empty();
        self.failed || (nothing_left && self.inner.is_end_stream())
    }
}

/// The body of a response, during which its call is open.
pub(super) struct CallBody<B> {
    inner: B,
    _call: Arc<OpenCall>,
}

impl<B> CallBody<B> {
    pub(super) fn new(inner: B, call: Arc<OpenCall>) -> Self {
        Self { inner, _call: call }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for CallBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
