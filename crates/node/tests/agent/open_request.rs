//! A request that stays open while a node shuts down.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vmafx_testkit::http_client::HttpResponse;

/// A request that is sent in part. A server that shuts down waits for the rest, so the response is its last state.
pub(crate) struct OpenRequest(TcpStream);

impl OpenRequest {
    pub(crate) async fn open(address: SocketAddr, path: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\n").as_bytes()).await?;
        Ok(Self(stream))
    }

    /// Sends the rest, and returns the whole response.
    pub(crate) async fn complete(mut self) -> io::Result<HttpResponse> {
        self.0.write_all(b"host: node\r\nconnection: close\r\n\r\n").await?;
        let mut response = String::new();
        self.0.read_to_string(&mut response).await?;
        HttpResponse::parse(&response)
    }
}
