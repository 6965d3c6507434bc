//! A web server for tests that can also violate HTTP.
//!
//! It uses plain sockets and threads, because a library would not send a body that is shorter than declared, or leave a
//! request unanswered. It records every request, so that tests can count them.
//!
//! ```
//! use vmafx_testkit::http_server::{HttpServer, Reply};
//!
//! let server = HttpServer::start(|request| match request.path.as_str() {
//!     "/clip" => Reply::file(b"frames").etag("\"1\""),
//!     _ => Reply::status(404),
//! });
//! assert!(server.url("/clip").starts_with("http://127.0.0.1:"));
//! ```

mod reply;
mod request;

use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

pub use reply::{Reply, ReplyBody};
pub use request::HttpRequest;

type Handler = dyn Fn(&HttpRequest) -> Reply + Send + Sync;

/// A server on a free port of this machine. Dropping it closes all its connections.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<ServerState>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ServerState {
    stopped: AtomicBool,
    requests: Mutex<Vec<HttpRequest>>,
    connections: Mutex<Vec<TcpStream>>,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerState").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl HttpServer {
    #[expect(clippy::expect_used, reason = "a test cannot run without a socket")]
    pub fn start(handler: impl Fn(&HttpRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port of this machine");
        let address = listener.local_addr().expect("the port that was just taken");
        let shared = Arc::new(ServerState::default());
        let (handler, state): (Arc<Handler>, _) = (Arc::new(handler), Arc::clone(&shared));
        let accepting = thread::spawn(move || {
            for connection in listener.incoming() {
                if state.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(connection) = connection else { continue };
                lock(&state.connections).extend(connection.try_clone());
                let (handler, state) = (Arc::clone(&handler), Arc::clone(&state));
                thread::spawn(move || drop(serve(&connection, &*handler, &state)));
            }
        });
        Self { address, shared, accepting: Some(accepting) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `127.0.0.1:port`.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    pub fn requests(&self) -> Vec<HttpRequest> {
        lock(&self.shared.requests).clone()
    }

    /// The number of requests for a path.
    pub fn count(&self, path: &str) -> usize {
        lock(&self.shared.requests).iter().filter(|request| request.path == path).count()
    }

    /// The number of connections that clients have not closed.
    pub fn open_connections(&self) -> usize {
        let connections = lock(&self.shared.connections);
        connections.iter().filter(|connection| is_open(connection)).count()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address); // wakes the thread that accepts
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for connection in lock(&self.shared.connections).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the client has not closed the connection.
fn is_open(connection: &TcpStream) -> bool {
    let _ = connection.set_nonblocking(true);
    let peeked = connection.peek(&mut [0]);
    let _ = connection.set_nonblocking(false);
    match peeked {
        Ok(bytes) => bytes > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

fn serve(connection: &TcpStream, handler: &Handler, shared: &ServerState) -> io::Result<()> {
    let mut reader = io::BufReader::new(connection);
    while let Some(request) = HttpRequest::read(&mut reader)? {
        lock(&shared.requests).push(request.clone());
        let mut writer = connection;
        if !handler(&request).send(&request, &mut writer)? {
            let _ = writer.flush();
            let _ = connection.shutdown(Shutdown::Both);
            return Ok(());
        }
    }
    Ok(())
}
