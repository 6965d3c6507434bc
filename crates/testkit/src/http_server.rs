//! A web server that does to a client whatever a test needs: also what no decent server does.
//!
//! It is written by hand on sockets and threads, because a library would not send a body that is shorter than declared,
//! or headers that never end. What was asked of it is kept, so that tests can count.
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

pub use reply::{Body, Reply};
pub use request::Request;

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server on a free port of this machine. Dropping it ends all its connections.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    requests: Mutex<Vec<Request>>,
    connections: Mutex<Vec<TcpStream>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Starts one that answers as `handler` says.
    #[expect(clippy::expect_used, reason = "without a socket there is no test")]
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port of this machine");
        let address = listener.local_addr().expect("the port that was just taken");
        let shared = Arc::new(Shared::default());
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

    /// The address of something on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `127.0.0.1:port`.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// Everything that was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// How often something was asked for.
    pub fn count(&self, path: &str) -> usize {
        lock(&self.shared.requests).iter().filter(|request| request.path == path).count()
    }

    /// Connections that clients have not closed.
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

/// Whether the other side still listens.
fn is_open(connection: &TcpStream) -> bool {
    let _ = connection.set_nonblocking(true);
    let seen = connection.peek(&mut [0]);
    let _ = connection.set_nonblocking(false);
    match seen {
        Ok(bytes) => bytes > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

fn serve(connection: &TcpStream, handler: &Handler, shared: &Shared) -> io::Result<()> {
    let mut reader = io::BufReader::new(connection);
    while let Some(request) = Request::read(&mut reader)? {
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
