use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::{Connected, TcpConnectInfo};

use super::peers::PeerConnection;
use super::unauthenticated::ConnectionAuthentication;
use crate::tls::ClientCertificate;

/// The first bytes of every HTTP/2 connection.
const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Debug)]
pub(super) enum ServerSocket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The place of a connection within the limits of its listener, until it is dropped.
#[derive(Debug)]
pub(super) struct AdmittedConnection {
    pub(super) peer: Arc<PeerConnection>,
    /// `None` where connections without an authorized call have no limit of their own.
    pub(super) authentication: Option<ConnectionAuthentication>,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl AdmittedConnection {
    /// Waits until the connection has to close for another one.
    pub(super) async fn evicted(&self) {
        match &self.authentication {
            Some(authentication) => authentication.evicted().await,
            None => std::future::pending().await,
        }
    }
}

/// An accepted connection, with or without TLS. It counts against the limits of its listener until it is dropped.
#[derive(Debug)]
pub struct ServerConnection {
    pub(super) socket: ServerSocket,
    pub(super) peer: SocketAddr,
    pub(super) admitted: Arc<AdmittedConnection>,
    /// What was read ahead of the server.
    unread_preface: &'static [u8],
}

impl ServerConnection {
    pub(super) fn new(socket: ServerSocket, peer: SocketAddr, admitted: AdmittedConnection) -> Self {
        Self { socket, peer, admitted: Arc::new(admitted), unread_preface: &[] }
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The certificate that the client presented.
    pub(super) fn client_certificate(&self) -> Option<ClientCertificate> {
        match &self.socket {
            ServerSocket::Plain(_) => None,
            ServerSocket::Tls(stream) => {
                stream.get_ref().1.peer_certificates()?.first().map(ClientCertificate::parse)
            }
        }
    }

    /// Reads the preface, so that a server has no state for a connection before its client has sent it.
    pub(super) async fn read_http2_preface(&mut self) -> io::Result<()> {
        let mut received = [0; HTTP2_PREFACE.len()];
        let mut filled = 0;
        while let Some(rest) = received.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += match self.read(rest).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => read,
            };
            if received.get(..filled) != HTTP2_PREFACE.get(..filled) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the client does not speak HTTP/2"));
            }
        }
        self.unread_preface = HTTP2_PREFACE;
        Ok(())
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
        if !self.unread_preface.is_empty() {
            let (now, later) = self.unread_preface.split_at(self.unread_preface.len().min(buf.remaining()));
            buf.put_slice(now);
            self.unread_preface = later;
            return Poll::Ready(Ok(()));
        }
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
