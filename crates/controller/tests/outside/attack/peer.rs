//! Attackers with an address of their own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::poll_fn;
use h2::client::SendRequest;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// More than one frame, so that a message is spread over many.
const CHUNK_BYTES: usize = 64 * 1024;

/// The preface of HTTP/2 and empty settings.
const HTTP2_OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Raises the limit of this process, which the controller inherits.
pub(super) fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    assert!(limit.maximum.is_none_or(|maximum| maximum >= 12_000), "ulimit -Hn is below 12000: {limit:?}");
    limit.current = limit.maximum.map(|maximum| maximum.min(65_536)).or(Some(65_536));
    setrlimit(Resource::Nofile, limit).unwrap();
}

pub(crate) fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

/// What all attackers of one test have done. A socket or call is open until the server ends it.
#[derive(Clone, Debug)]
pub(super) struct Flood {
    target: SocketAddr,
    opened_sockets: Arc<AtomicUsize>,
    closed_sockets: Arc<AtomicUsize>,
    begun_calls: Arc<AtomicUsize>,
    ended_calls: Arc<AtomicUsize>,
    sent_bytes: Arc<AtomicUsize>,
}

impl Flood {
    pub(super) fn new(target: SocketAddr) -> Self {
        Self {
            target,
            opened_sockets: Arc::default(),
            closed_sockets: Arc::default(),
            begun_calls: Arc::default(),
            ended_calls: Arc::default(),
            sent_bytes: Arc::default(),
        }
    }

    pub(super) fn opened_sockets(&self) -> usize {
        self.opened_sockets.load(Ordering::SeqCst)
    }

    pub(super) fn open_sockets(&self) -> usize {
        self.opened_sockets() - self.closed_sockets.load(Ordering::SeqCst)
    }

    pub(super) fn begun_calls(&self) -> usize {
        self.begun_calls.load(Ordering::SeqCst)
    }

    pub(super) fn open_calls(&self) -> usize {
        self.begun_calls() - self.ended_calls.load(Ordering::SeqCst)
    }

    async fn connect(&self, from: Ipv4Addr) -> Option<TcpStream> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((from, 0))).unwrap();
        timeout(CONNECT_TIMEOUT, socket.connect(self.target)).await.ok()?.ok()
    }

    /// Opens sockets and sends nothing. Counts each until the server closes it.
    pub(super) async fn silent(self, from: Ipv4Addr, sockets: usize) {
        self.hold(from, sockets, Bytes::new()).await;
    }

    /// Opens HTTP/2 connections and begins no call.
    pub(super) async fn idle(self, from: Ipv4Addr, sockets: usize) {
        self.hold(from, sockets, HTTP2_OPENING).await;
    }

    /// Opens HTTP/2 connections and sends metadata without an end, in frames of the largest size.
    pub(super) async fn half_metadata(self, from: Ipv4Addr, sockets: usize) {
        let headers = |kind: u8, length: u16| {
            let [high, low] = length.to_be_bytes();
            [&[0, high, low, kind, 0, 0, 0, 0, 1], vec![0; usize::from(length)].as_slice()].concat()
        };
        // A literal that is longer than both frames: name of one byte, value of 32 000.
        let mut block = headers(1, 16_000);
        block.splice(9..16, [0x00, 0x01, b'x', 0x7f, 0x81, 0xf9, 0x01]);
        let mut rest = headers(9, 16_000);
        rest.pop();
        let bytes = [HTTP2_OPENING, block.as_slice(), rest.as_slice()].concat();
        self.hold(from, sockets, bytes).await;
    }

    /// Opens HTTP/1.1 connections and sends the head of a request without its end.
    pub(super) async fn half_head(self, from: Ipv4Addr, sockets: usize, bytes: usize) {
        let head = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(bytes));
        self.hold(from, sockets, head).await;
    }

    async fn hold(&self, from: Ipv4Addr, sockets: usize, first_bytes: impl Into<Bytes>) {
        let first_bytes: Bytes = first_bytes.into();
        let mut held = JoinSet::new();
        for _ in 0..sockets {
            let connected = self.connect(from).await;
            self.opened_sockets.fetch_add(1, Ordering::SeqCst);
            let (closed, first_bytes) = (self.closed_sockets.clone(), first_bytes.clone());
            held.spawn(async move {
                if let Some(mut socket) = connected {
                    let _ = socket.write_all(&first_bytes).await;
                    while socket.read(&mut [0; 256]).await.is_ok_and(|read| read > 0) {}
                }
                closed.fetch_add(1, Ordering::SeqCst);
            });
        }
        while held.join_next().await.is_some() {}
    }

    /// Begins calls whose message has `claimed` bytes, and sends all but the last of them if the server lets it.
    pub(super) async fn half_sent(
        self,
        from: Ipv4Addr,
        calls: usize,
        method: &'static str,
        token: Option<&'static str>,
        claimed: u32,
    ) {
        let socket = self.connect(from).await.expect("a connection for the calls");
        let (requests, connection) = h2::client::handshake(socket).await.unwrap();
        let mut running = JoinSet::new();
        running.spawn(async move { drop(connection.await) });
        for _ in 0..calls {
            let call = self.clone().half_call(requests.clone(), method, token, claimed);
            running.spawn(call);
        }
        while running.join_next().await.is_some() {}
    }

    async fn half_call(
        self,
        requests: SendRequest<Bytes>,
        method: &'static str,
        token: Option<&'static str>,
        claimed: u32,
    ) {
        let mut request = http::Request::post(format!("http://{}{method}", self.target))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let ready = requests.ready().await;
        self.begun_calls.fetch_add(1, Ordering::SeqCst);
        if let Ok(mut requests) = ready
            && let Ok((response, mut body)) = requests.send_request(request.body(()).unwrap(), false)
        {
            let sent = async {
                let mut left = claimed as usize - 1;
                let mut next = prefix(claimed);
                while left > 0 {
                    body.reserve_capacity(next.len());
                    let Some(Ok(capacity)) = poll_fn(|cx| body.poll_capacity(cx)).await else { return };
                    let piece = next.split_to(capacity.min(next.len()));
                    self.sent_bytes.fetch_add(piece.len(), Ordering::SeqCst);
                    if body.send_data(piece, false).is_err() {
                        return;
                    }
                    if next.is_empty() {
                        next = Bytes::from(vec![1; left.min(CHUNK_BYTES)]);
                        left -= next.len();
                    }
                }
                std::future::pending::<()>().await;
            };
            let answered = async {
                if let Ok(response) = response.await {
                    let mut body = response.into_body();
                    while let Some(Ok(_)) = body.data().await {}
                }
            };
            tokio::select! {
                () = sent => {}
                () = answered => {}
            }
        }
        self.ended_calls.fetch_add(1, Ordering::SeqCst);
    }
}

/// The prefix of a message of this length.
fn prefix(length: u32) -> Bytes {
    let mut prefix = vec![0];
    prefix.extend(length.to_be_bytes());
    prefix.into()
}
