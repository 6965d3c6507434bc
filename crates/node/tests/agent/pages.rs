//! Requests to the health and metrics pages of a node.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request that is sent in part. A server that shuts down waits for the rest, so the response is its last state.
pub(crate) struct OpenRequest(TcpStream);

impl OpenRequest {
    pub(crate) async fn open(address: &str, path: &str) -> std::io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\n").as_bytes()).await?;
        Ok(Self(stream))
    }

    /// Sends the rest, and returns the whole response.
    pub(crate) async fn complete(mut self) -> std::io::Result<String> {
        self.0.write_all(b"host: node\r\nconnection: close\r\n\r\n").await?;
        let mut response = String::new();
        self.0.read_to_string(&mut response).await?;
        Ok(response)
    }
}

pub(crate) async fn page(address: &str, path: &str) -> std::io::Result<String> {
    OpenRequest::open(address, path).await?.complete().await
}

/// The value of a series in the text of `/metrics`.
pub(crate) fn value(metrics: &str, series: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.trim().parse().ok())
}
