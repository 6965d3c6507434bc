//! Requests to the health, metrics and status pages of a daemon.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub body: String,
}

impl HttpResponse {
    /// Parses the response of a server that closed the connection.
    pub fn parse(response: &str) -> io::Result<Self> {
        let parse = || {
            let (head, body) = response.split_once("\r\n\r\n")?;
            let status = head.split(' ').nth(1)?.parse().ok()?;
            Some(Self { status, body: body.to_owned() })
        };
        parse().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {response:?}")))
    }

    /// The value of a series, if this is a page of Prometheus metrics that has it.
    pub fn metric(&self, series: &str) -> Option<f64> {
        self.body.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

/// Sends a GET request on a new connection.
pub async fn get(address: SocketAddr, path: &str) -> io::Result<HttpResponse> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    HttpResponse::parse(&response)
}

/// Whether `/readyz` responds with 200.
pub async fn is_ready(address: SocketAddr) -> bool {
    get(address, "/readyz").await.is_ok_and(|response| response.status == 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_a_status_and_metrics() {
        let text = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nup{a=\"1\"} 1.5\nupper 2\n";
        let page = HttpResponse::parse(text).unwrap();
        assert_eq!((page.status, page.metric("up{a=\"1\"}"), page.metric("up")), (200, Some(1.5), None));
        assert!(HttpResponse::parse("HTTP/1.1 200 OK\r\n").is_err());
    }
}
