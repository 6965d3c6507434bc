//! Answers that leave together.
//!
//! HTTP/2 flushes whenever one answer is there. Where many calls of a connection are answered in the same moment, as
//! those are that shared a transaction, each would be a system call here and a wake-up there. So a flush waits until
//! every task that can run had its turn, and sends what they had to say at once.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};

use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// Most bytes that wait; beyond them writers wait for the socket.
const ROOM: usize = 16 * 1024;

/// A socket that sends what is flushed in the same moment at once.
#[derive(Debug)]
pub struct Gathered<S> {
    socket: S,
    waiting: Vec<u8>,
    /// How much of it is sent already.
    sent: usize,
    turn: Option<Arc<Turn>>,
}

impl<S> Gathered<S> {
    /// Around this socket.
    pub fn new(socket: S) -> Self {
        Self { socket, waiting: Vec::new(), sent: 0, turn: None }
    }
}

/// The turn of the other tasks. Whoever waits for its end may be woken before, by an answer more.
#[derive(Debug, Default)]
struct Turn {
    is_over: AtomicBool,
    waits: AtomicWaker,
}

impl Turn {
    fn begin() -> Arc<Self> {
        let turn = Arc::new(Self::default());
        let over = Waker::from(turn.clone());
        // The runtime keeps the waker until it has nothing else to run.
        let _ = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(&over));
        turn
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        self.waits.register(cx.waker());
        if self.is_over.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.is_over.store(true, Ordering::Release);
        self.waits.wake();
    }
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.waiting.len() {
            let count = ready!(Pin::new(&mut self.socket).poll_write(cx, &self.waiting[self.sent..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += count;
        }
        self.waiting.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    fn room(&self) -> usize {
        ROOM.saturating_sub(self.waiting.len())
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.room() == 0 {
            ready!(self.poll_send(cx))?;
        }
        let before = self.waiting.len();
        for buf in bufs {
            let count = buf.len().min(self.room());
            self.waiting.extend_from_slice(&buf[..count]);
        }
        Poll::Ready(Ok(self.waiting.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.waiting.is_empty() {
            ready!(self.turn.get_or_insert_with(Turn::begin).poll(cx));
            ready!(self.poll_send(cx))?;
        }
        self.turn = None;
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl<S: Connected> Connected for Gathered<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> S::ConnectInfo {
        self.socket.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Takes a few bytes at a time, and keeps what came in each call.
    #[derive(Default)]
    struct Calls {
        sizes: Vec<usize>,
        bytes: Vec<u8>,
        flushed: usize,
    }

    impl AsyncWrite for Calls {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let count = buf.len().min(10_000);
            self.sizes.push(count);
            self.bytes.extend_from_slice(&buf[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flushed = self.bytes.len();
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush(cx)
        }
    }

    #[tokio::test]
    async fn what_is_said_in_the_same_moment_leaves_at_once() {
        let mut socket = Gathered::new(Calls::default());
        poll_fn(|cx| {
            for part in [b"one", b"two", b"six"] {
                assert!(Pin::new(&mut socket).poll_write(cx, part).is_ready());
                assert!(Pin::new(&mut socket).poll_flush(cx).is_pending(), "others have their turn first");
            }
            Poll::Ready(())
        })
        .await;
        socket.flush().await.unwrap();
        assert_eq!((socket.socket.sizes.as_slice(), socket.socket.flushed), (&[9][..], 9));
        assert_eq!(socket.socket.bytes, b"onetwosix");
    }

    #[tokio::test]
    async fn much_is_sent_in_pieces_and_in_order() {
        let mut socket = Gathered::new(Calls::default());
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| number.to_le_bytes()[1]).collect();
        socket.write_all(&bytes).await.unwrap();
        assert!(socket.waiting.len() <= ROOM);
        socket.shutdown().await.unwrap();
        assert_eq!((socket.socket.bytes == bytes, socket.socket.flushed), (true, 100_000));
    }
}
