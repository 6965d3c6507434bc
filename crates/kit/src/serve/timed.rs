//! A connection that does not wait for ever.
//!
//! Hyper has one timeout, from the end of an answer to the end of the next request's head, so it cannot tell a
//! client that rests between two requests from one that sends a head byte by byte. Here the two are told apart by
//! what the connection is in the middle of:
//!
//! | phase | waits for                | until            | left by                      |
//! |-------|--------------------------|------------------|------------------------------|
//! | Fresh | the first byte of all    | `header`         | a byte: Head                 |
//! | Head  | the rest of a head       | `header`, on     | the whole head: Busy         |
//! | Busy  | us; the body has its own | -                | the end of the answer: Idle  |
//! | Idle  | the next request         | `idle`           | a byte: Head                 |
//!
//! Writing is timed in every phase: an answer of which nothing is taken for `write` ends the connection, and what
//! it held is free again.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::limits::HttpLimits;

/// What a connection is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Fresh,
    Head,
    Busy,
    Idle,
}

/// The phase, as seen by the connection and by whoever answers its requests.
#[derive(Clone, Debug)]
pub(super) struct SharedPhase(Arc<AtomicU8>);

impl SharedPhase {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU8::new(Phase::Fresh as u8)))
    }

    pub(super) fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Release);
    }

    pub(super) fn get(&self) -> Phase {
        match self.0.load(Ordering::Acquire) {
            0 => Phase::Fresh,
            1 => Phase::Head,
            2 => Phase::Busy,
            _ => Phase::Idle,
        }
    }
}

/// A timer that is set once per wait.
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

/// The timed connection.
#[derive(Debug)]
pub(super) struct Timed<S> {
    inner: S,
    phase: SharedPhase,
    limits: HttpLimits,
    /// The phase that `reading` was set for.
    waiting_in: Phase,
    reading: Timer,
    writing: Timer,
}

impl<S> Timed<S> {
    pub(super) fn new(inner: S, phase: SharedPhase, limits: HttpLimits) -> Self {
        let (reading, writing) = (Timer::default(), Timer::default());
        Self { inner, phase, limits, waiting_in: Phase::Fresh, reading, writing }
    }

    /// What is read belongs to a head, unless a request is being dealt with.
    fn has_read(&mut self) {
        match self.phase.get() {
            Phase::Idle => {
                self.phase.set(Phase::Head);
                self.waiting_in = Phase::Head;
                self.reading.clear();
            }
            Phase::Fresh => {
                // The timer goes on: the head has been awaited since the connection was there.
                self.phase.set(Phase::Head);
                self.waiting_in = Phase::Head;
            }
            Phase::Head | Phase::Busy => {}
        }
    }

    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let phase = self.phase.get();
        if phase != self.waiting_in {
            self.waiting_in = phase;
            self.reading.clear();
        }
        let limit = match phase {
            Phase::Fresh | Phase::Head => self.limits.header,
            Phase::Busy => None,
            Phase::Idle => self.limits.idle,
        };
        ready!(self.reading.poll(limit, cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client sent no request in time")))
    }

    /// Lets an answer of the socket through; while there is none, time runs.
    fn timed_write<T>(&mut self, answer: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if answer.is_ready() {
            self.writing.clear();
            return answer;
        }
        ready!(self.writing.poll(self.limits.write, cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client took nothing of its answer")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buf) {
            Poll::Ready(read) => {
                if buf.filled().len() > before {
                    self.has_read();
                }
                Poll::Ready(read)
            }
            Poll::Pending => self.poll_patience(cx),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.timed_write(answer, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.timed_write(answer, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_flush(cx);
        self.timed_write(answer, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.timed_write(answer, cx)
    }
}
