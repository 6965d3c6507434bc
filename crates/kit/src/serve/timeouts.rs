//! Timeouts of HTTP connections.
//!
//! Hyper has one timeout, from the end of a response to the end of the next request's header, so it cannot tell an
//! idle client from one that sends a header byte by byte. Here the connection's phase selects the timeout:
//!
//! | phase  | waits for                                  | timeout                      | next phase                      |
//! |--------|--------------------------------------------|------------------------------|---------------------------------|
//! | New    | the first byte                             | `header`                     | Header, on the first byte       |
//! | Header | the rest of the header                     | `header`; continues from New | Busy, when it is complete       |
//! | Busy   | our handler; the body has its own timeout  | none                         | Idle, at the end of the response |
//! | Idle   | the next request                           | `idle`                       | Header, on the first byte       |
//!
//! Writing has a timeout in every phase: a client that reads nothing of its response for `write` is disconnected.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::limits::HttpLimits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    New,
    Header,
    Busy,
    Idle,
}

/// The phase, shared by the connection and the handler of its requests.
#[derive(Clone, Debug)]
pub(super) struct SharedPhase(Arc<AtomicU8>);

impl SharedPhase {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU8::new(ConnectionPhase::New as u8)))
    }

    pub(super) fn set(&self, phase: ConnectionPhase) {
        self.0.store(phase as u8, Ordering::Release);
    }

    pub(super) fn get(&self) -> ConnectionPhase {
        match self.0.load(Ordering::Acquire) {
            0 => ConnectionPhase::New,
            1 => ConnectionPhase::Header,
            2 => ConnectionPhase::Busy,
            _ => ConnectionPhase::Idle,
        }
    }
}

#[derive(Debug, Default)]
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn clear(&mut self) {
        self.0 = None;
    }

    /// Ready once `limit` has passed since the first call after `clear`.
    fn poll(&mut self, limit: Option<Duration>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(limit) = limit else { return Poll::Pending };
        self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit))).as_mut().poll(cx)
    }
}

/// A connection with the timeouts above.
#[derive(Debug)]
pub(super) struct TimedConnection<S> {
    inner: S,
    phase: SharedPhase,
    limits: HttpLimits,
    /// The phase that `reading` was started for.
    waiting_in: ConnectionPhase,
    reading: Timer,
    writing: Timer,
}

impl<S> TimedConnection<S> {
    pub(super) fn new(inner: S, phase: SharedPhase, limits: HttpLimits) -> Self {
        let (reading, writing) = (Timer::default(), Timer::default());
        Self { inner, phase, limits, waiting_in: ConnectionPhase::New, reading, writing }
    }

    /// Bytes that arrive belong to a header, unless a request is being handled.
    fn received_bytes(&mut self) {
        match self.phase.get() {
            ConnectionPhase::Idle => {
                self.phase.set(ConnectionPhase::Header);
                self.waiting_in = ConnectionPhase::Header;
                self.reading.clear();
            }
            ConnectionPhase::New => {
                // The timer keeps running: it covers the header since the connection was accepted.
                self.phase.set(ConnectionPhase::Header);
                self.waiting_in = ConnectionPhase::Header;
            }
            ConnectionPhase::Header | ConnectionPhase::Busy => {}
        }
    }

    fn poll_read_timeout(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let phase = self.phase.get();
        if phase != self.waiting_in {
            self.waiting_in = phase;
            self.reading.clear();
        }
        let limit = match phase {
            ConnectionPhase::New | ConnectionPhase::Header => self.limits.header,
            ConnectionPhase::Busy => None,
            ConnectionPhase::Idle => self.limits.idle,
        };
        ready!(self.reading.poll(limit, cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client sent no request in time")))
    }

    /// Passes on the result of a write; while it is pending, the timer runs.
    fn timed_write<T>(&mut self, result: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.writing.clear();
            return result;
        }
        ready!(self.writing.poll(self.limits.write, cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client did not read its response in time",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedConnection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buf) {
            Poll::Ready(read) => {
                if buf.filled().len() > before {
                    self.received_bytes();
                }
                Poll::Ready(read)
            }
            Poll::Pending => self.poll_read_timeout(cx),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedConnection<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.timed_write(result, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.timed_write(result, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(cx);
        self.timed_write(result, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.timed_write(result, cx)
    }
}
