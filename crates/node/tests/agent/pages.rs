//! The health and metrics pages of a node.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request that is begun and not finished. A server that leaves waits for it, so that its last word can be had.
pub(crate) struct Question(TcpStream);

impl Question {
    pub(crate) async fn begin(address: &str, path: &str) -> std::io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\n").as_bytes()).await?;
        Ok(Self(stream))
    }

    /// Finishes it; the whole answer.
    pub(crate) async fn end(mut self) -> std::io::Result<String> {
        self.0.write_all(b"host: node\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

/// A page.
pub(crate) async fn page(address: &str, path: &str) -> std::io::Result<String> {
    Question::begin(address, path).await?.end().await
}

/// The value of a series on a page of metrics.
pub(crate) fn value(metrics: &str, series: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.trim().parse().ok())
}
