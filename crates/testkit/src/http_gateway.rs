//! A gateway in front of a real HTTP server that can be told to answer 503.
//!
//! The server behind it stays real; the gateway adds the one fault that it cannot be made to show.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

const UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Forwards connections to a server. Dropping it closes them and stops listening.
#[derive(Debug)]
pub struct HttpGateway {
    address: SocketAddr,
    state: Arc<GatewayState>,
}

#[derive(Debug, Default)]
struct GatewayState {
    failing: AtomicBool,
    stopped: AtomicBool,
    refused: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
}

impl GatewayState {
    fn close_all(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A connection that the peer has closed cannot be shut down again.
            _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl HttpGateway {
    pub fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state = Arc::new(GatewayState::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if shared.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                // A connection that breaks concerns only its client.
                thread::spawn(move || _ = serve(&connection, server, &shared));
            }
        });
        Ok(Self { address, state })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers every request with 503 until [`HttpGateway::heal`]. Connections that are open are closed, so that no client
    /// escapes the fault.
    pub fn fail(&self) {
        self.state.failing.store(true, Ordering::SeqCst);
        self.state.close_all();
    }

    pub fn heal(&self) {
        self.state.failing.store(false, Ordering::SeqCst);
    }

    /// The number of requests that were answered with 503.
    pub fn refused(&self) -> usize {
        self.state.refused.load(Ordering::SeqCst)
    }
}

impl Drop for HttpGateway {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        self.state.close_all();
        // The listener notices only with the next connection.
        _ = TcpStream::connect(self.address);
    }
}

fn serve(client: &TcpStream, server: SocketAddr, state: &GatewayState) -> io::Result<()> {
    if state.failing.load(Ordering::SeqCst) {
        return refuse(client, state);
    }
    let upstream = TcpStream::connect(server)?;
    {
        let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|stream| stream.peer_addr().is_ok());
        open.extend([client.try_clone()?, upstream.try_clone()?]);
    }
    let (mut from_client, mut to_server) = (client.try_clone()?, upstream.try_clone()?);
    let requests = thread::spawn(move || {
        _ = io::copy(&mut from_client, &mut to_server);
        _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut from_server, mut to_client) = (upstream, client);
    _ = io::copy(&mut from_server, &mut to_client);
    _ = to_client.shutdown(Shutdown::Both);
    _ = requests.join();
    Ok(())
}

/// Reads the head of a request, so that the client does not see a reset, and answers 503.
fn refuse(client: &TcpStream, state: &GatewayState) -> io::Result<()> {
    let mut lines = BufReader::new(client).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    state.refused.fetch_add(1, Ordering::SeqCst);
    let mut client = client;
    client.write_all(UNAVAILABLE)?;
    client.shutdown(Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_server::{HttpServer, Reply};

    fn status(gateway: &HttpGateway) -> String {
        let mut stream = TcpStream::connect(gateway.address()).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    #[test]
    fn requests_fail_from_the_fault_until_it_is_healed() {
        let server = HttpServer::start(|_| Reply::status(204));
        let address = server.url("").trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        let gateway = HttpGateway::start(address).unwrap();
        let before = status(&gateway);
        gateway.fail();
        let during = status(&gateway);
        gateway.heal();
        assert_eq!([before, during, status(&gateway)], ["204", "503", "204"]);
        assert_eq!(gateway.refused(), 1);
    }
}
