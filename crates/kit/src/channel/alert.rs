//! Remembers the alert by which a server refused the client's certificate.
//!
//! With TLS 1.3 the handshake of the client is complete before the server has verified its certificate, so that the refusal
//! comes while HTTP/2 reads or writes. HTTP/2 keeps only the text of such an error.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use rustls::AlertDescription;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The alert of the last connection, if it had one. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct LastAlert(Arc<Mutex<Option<AlertDescription>>>);

impl LastAlert {
    pub(super) fn get(&self) -> Option<AlertDescription> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, alert: Option<AlertDescription>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = alert;
    }

    fn note(&self, error: &io::Error) {
        let tls = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::AlertReceived(alert)) = tls {
            self.set(Some(*alert));
        }
    }
}

pub(super) struct AlertedStream {
    pub(super) stream: TlsStream<TcpStream>,
    pub(super) alert: LastAlert,
}

impl AlertedStream {
    /// A write to a connection that the server has closed fails at once, and the alert came before that. So it is awaited
    /// before the failure is returned.
    fn noted<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(result, Poll::Ready(Err(_))) {
            let mut byte = [0];
            let read = Pin::new(&mut self.stream).poll_read(cx, &mut ReadBuf::new(&mut byte));
            if let Err(error) = ready!(read) {
                self.alert.note(&error);
            }
        }
        result
    }
}

impl AsyncRead for AlertedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Poll::Ready(Err(error)) = &read {
            self.alert.note(error);
        }
        read
    }
}

impl AsyncWrite for AlertedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.noted(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.noted(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
