use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::{Connected, TcpConnectInfo};

#[derive(Debug)]
pub(super) enum ServerSocket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// An accepted connection, with or without TLS. It counts against the limit of its listener until it is dropped.
#[derive(Debug)]
pub struct ServerConnection {
    pub(super) socket: ServerSocket,
    pub(super) peer: SocketAddr,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl ServerConnection {
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn tcp(&self) -> &TcpStream {
        match &self.socket {
            ServerSocket::Plain(stream) => stream,
            ServerSocket::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl Connected for ServerConnection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        TcpConnectInfo { local_addr: self.tcp().local_addr().ok(), remote_addr: Some(self.peer) }
    }
}

impl AsyncRead for ServerConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.socket {
            ServerSocket::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            ServerSocket::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for ServerConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.socket {
            ServerSocket::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            ServerSocket::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.socket {
            ServerSocket::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            ServerSocket::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.socket {
            ServerSocket::Plain(stream) => stream.is_write_vectored(),
            ServerSocket::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            ServerSocket::Plain(stream) => Pin::new(stream).poll_flush(cx),
            ServerSocket::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            ServerSocket::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            ServerSocket::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
