//! Connections to the controller: a port-forward of the API server, with TLS inside.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use super::error::DashboardError;
use super::target::{ControllerTarget, TargetCache};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens connections for the pool of the HTTP client, whatever the URI.
#[derive(Clone)]
pub(super) struct TunnelConnector(pub(super) Arc<TargetCache>);

impl TunnelConnector {
    async fn connect(&self) -> Result<TunnelConnection, DashboardError> {
        if let Some(target) = self.0.cached()
            && let Ok(connection) = self.open(target).await
        {
            return Ok(connection);
        }
        let target = self.0.look_up().await?;
        self.open(target).await
    }

    async fn open(&self, target: ControllerTarget) -> Result<TunnelConnection, DashboardError> {
        let cluster = self.0.cluster();
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &target.namespace);
        let what = format!("forward a port to Pod {}/{}", target.namespace, target.pod);
        // Without a receiver of its errors, a port-forward that the Pod refuses ends, and the stream with it.
        let mut forward = cluster.call(&what, pods.portforward(&target.pod, &[target.port])).await?;
        let stream = forward.take_stream(target.port).ok_or_else(|| DashboardError::Connection {
            cause: "the port-forward has no stream".to_owned(),
        })?;
        let Some(tls) = target.tls else { return Ok(TunnelConnection::Plain(stream)) };
        let failed =
            |cause: String| DashboardError::Handshake { service: self.0.service().to_string(), cause };
        let handshake = TlsConnector::from(tls.config).connect(tls.server_name, stream);
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await {
            Ok(Ok(stream)) => Ok(TunnelConnection::Tls(Box::new(stream))),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed(format!("no response within {HANDSHAKE_TIMEOUT:?}"))),
        }
    }
}

impl Service<Uri> for TunnelConnector {
    type Response = TokioIo<TunnelConnection>;
    type Error = DashboardError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect().await.map(TokioIo::new) })
    }
}

pub(super) enum TunnelConnection {
    Plain(DuplexStream),
    Tls(Box<TlsStream<DuplexStream>>),
}

impl Connection for TunnelConnection {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for TunnelConnection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for TunnelConnection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
