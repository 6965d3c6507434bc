//! What a gRPC listener takes from its clients: connections, calls, bytes and time. Where time is paused, waiting costs
//! nothing.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers of a test may fail it")]

#[allow(dead_code, reason = "the tests of the channel use the rest")]
mod grpc;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures::StreamExt as _;
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tonic::{Code, Status};
use vmafx_kit::health::ServingSignal;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::serve::{
    CallLimits, ConnectionAge, ConnectionLimits, GrpcLifetimes, GrpcLimits, LimitMetrics, RequestMessages,
    incoming, serve_grpc,
};
use vmafx_kit::tasks::Shutdown;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Longer than any timeout of the server.
const TIMEOUT: Duration = Duration::from_secs(100);
const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

struct Listener {
    addr: SocketAddr,
    metrics: Metrics,
    _running: JoinSet<()>,
}

impl Listener {
    async fn start(connections: ConnectionLimits, calls: GrpcLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut metrics = Metrics::new("test");
        let counted = LimitMetrics::new(&mut metrics);
        let calls = GrpcLimits { metrics: counted.clone(), ..calls };
        let service = tonic::service::Routes::from(grpc::routes(&Arc::default())).prepare();
        let lifetimes = GrpcLifetimes {
            age: ConnectionAge::default(),
            serving: ServingSignal::default(),
            shutdown: Shutdown::new(),
        };
        let mut running = JoinSet::new();
        running.spawn(async move {
            let accepted = incoming(listener, None, connections, counted).boxed();
            serve_grpc(accepted, service, lifetimes, calls).await.unwrap();
        });
        Self { addr, metrics, _running: running }
    }

    async fn connect(&self, from: Ipv4Addr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(self.addr).await.unwrap()
    }

    async fn client(&self, from: Ipv4Addr) -> Client {
        let (requests, connection) = h2::client::handshake(self.connect(from).await).await.unwrap();
        let mut running = JoinSet::new();
        running.spawn(async move { drop(connection.await) });
        Client { requests, _running: running }
    }

    /// How often a limit was reached.
    fn reached(&self, limit: &str) -> u64 {
        let name = format!("vmafx_listener_limits_reached_total{{limit=\"{limit}\"}} ");
        let text = self.metrics.encode().unwrap();
        text.lines().find_map(|line| line.strip_prefix(&name)).expect(limit).parse().unwrap()
    }
}

struct Client {
    requests: h2::client::SendRequest<Bytes>,
    _running: JoinSet<()>,
}

/// A call whose request has not ended.
struct HalfCall {
    response: h2::client::ResponseFuture,
    body: h2::SendStream<Bytes>,
}

impl Client {
    /// Begins a call with these bytes of its request.
    async fn begin(&self, method: &str, bytes: &[u8]) -> HalfCall {
        let request = http::Request::post(format!("http://t/t.Test/{method}"))
            .header("content-type", "application/grpc")
            .body(())
            .unwrap();
        let mut requests = self.requests.clone().ready().await.unwrap();
        let (response, mut body) = requests.send_request(request, false).unwrap();
        body.send_data(Bytes::copy_from_slice(bytes), false).unwrap();
        HalfCall { response, body }
    }
}

impl HalfCall {
    fn send(&mut self, bytes: &[u8], end: bool) {
        self.body.send_data(Bytes::copy_from_slice(bytes), end).unwrap();
    }

    async fn status(self) -> Status {
        timeout(TIMEOUT, self.received_status()).await.expect("a status")
    }

    async fn received_status(self) -> Status {
        let response = self.response.await.unwrap();
        if let Some(status) = Status::from_header_map(response.headers()) {
            return status;
        }
        let mut body = response.into_body();
        while let Some(data) = body.data().await {
            data.unwrap();
        }
        let trailers = body.trailers().await.unwrap().unwrap();
        Status::from_header_map(&trailers).unwrap()
    }
}

/// The prefix of a message.
fn prefix(length: u32) -> Vec<u8> {
    [&[0], length.to_be_bytes().as_slice()].concat()
}

fn methods(limits: CallLimits) -> GrpcLimits {
    GrpcLimits { methods: Arc::new(move |_| limits), ..GrpcLimits::default() }
}

/// Waits until the server closes the connection.
async fn closed(stream: &mut TcpStream) {
    let to_end = async { while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {} };
    timeout(TIMEOUT, to_end).await.expect("the end of the connection");
}

#[rstest]
#[case::nothing(b"")]
#[case::half(b"PRI * HTTP/2.0\r\n")]
#[tokio::test(start_paused = true)]
async fn a_client_without_a_preface_is_disconnected(#[case] sent: &[u8]) {
    let listener = Listener::start(ConnectionLimits::http2(), GrpcLimits::default()).await;
    let mut stream = listener.connect(LOCAL).await;
    stream.write_all(sent).await.unwrap();
    let begun = Instant::now();
    closed(&mut stream).await;
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(listener.reached("opening_timeout"), 1);
}

#[tokio::test]
async fn a_client_of_another_protocol_is_disconnected_at_once() {
    let listener = Listener::start(ConnectionLimits::http2(), GrpcLimits::default()).await;
    let mut stream = listener.connect(LOCAL).await;
    stream.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    closed(&mut stream).await;
    assert_eq!(listener.reached("opening_timeout"), 0);
}

#[tokio::test]
async fn a_preface_may_arrive_in_pieces() {
    let listener = Listener::start(ConnectionLimits::http2(), GrpcLimits::default()).await;
    let mut stream = listener.connect(LOCAL).await;
    for byte in PREFACE {
        stream.write_all(&[*byte]).await.unwrap();
    }
    stream.write_all(EMPTY_SETTINGS).await.unwrap();
    let mut header = [0; 9];
    stream.read_exact(&mut header).await.unwrap();
    assert_eq!(header[3], 4, "the server's own settings");
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_call_is_closed() {
    let listener = Listener::start(ConnectionLimits::http2(), GrpcLimits::default()).await;
    let mut stream = listener.connect(LOCAL).await;
    let begun = Instant::now();
    // Half of a header, as far as it goes.
    stream.write_all(&[PREFACE, EMPTY_SETTINGS, &[0, 1, 0, 1, 0, 0, 0, 0, 1]].concat()).await.unwrap();
    closed(&mut stream).await;
    assert_eq!(begun.elapsed().as_secs(), 35);
}

#[tokio::test]
async fn a_peer_with_too_many_connections_is_refused_and_others_are_not() {
    let limits = ConnectionLimits { per_peer: 1, ..ConnectionLimits::http2() };
    let listener = Listener::start(limits, GrpcLimits::default()).await;
    let first = listener.client(OTHER).await;
    let mut second = listener.connect(OTHER).await;
    closed(&mut second).await;
    assert_eq!(listener.reached("connections_per_peer"), 1);
    for client in [first, listener.client(LOCAL).await] {
        let mut call = client.begin("Echo", &prefix(0)).await;
        call.send(&[], true);
        assert_eq!(call.status().await.code(), Code::Ok);
    }
}

#[tokio::test]
async fn a_peer_with_too_many_calls_is_refused_by_the_name_of_the_limit() {
    let limits = GrpcLimits { calls_per_peer: 1, ..GrpcLimits::default() };
    let listener = Listener::start(ConnectionLimits::http2(), limits).await;
    let (busy, other) = (listener.client(OTHER).await, listener.client(LOCAL).await);
    let mut first = busy.begin("Echo", &prefix(0)).await;
    let status = busy.begin("Echo", &prefix(0)).await.status().await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().starts_with("VMAFX_GRPC_MAX_CALLS_PER_PEER"), "{status}");
    assert_eq!(listener.reached("calls_per_peer"), 1);
    let mut call = other.begin("Echo", &prefix(0)).await;
    call.send(&[], true);
    assert_eq!(call.status().await.code(), Code::Ok);
    first.send(&[], true);
    assert_eq!(first.status().await.code(), Code::Ok);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_by_its_prefix() {
    let limits = methods(CallLimits { max_message_bytes: 1024, ..CallLimits::default() });
    let listener = Listener::start(ConnectionLimits::http2(), limits).await;
    let status = listener.client(LOCAL).await.begin("Echo", &prefix(1025)).await.status().await;
    assert_eq!(status.code(), Code::OutOfRange, "{status}");
    assert!(status.message().contains("1024 bytes"), "{status}");
    assert_eq!(listener.reached("message_size"), 1);
}

#[tokio::test]
async fn unfinished_messages_of_a_peer_are_limited_and_whole_ones_are_not() {
    let limits = GrpcLimits { message_bytes_per_peer: 100, ..GrpcLimits::default() };
    let listener = Listener::start(ConnectionLimits::http2(), limits).await;
    let client = listener.client(LOCAL).await;
    let status = client.begin("Echo", &[prefix(500), vec![10; 200]].concat()).await.status().await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().starts_with("VMAFX_GRPC_MAX_MESSAGE_BYTES_PER_PEER"), "{status}");
    let mut call = client.begin("Echo", &ignored_field()).await;
    call.send(&[], true);
    assert_eq!(call.status().await.code(), Code::Ok);
}

#[tokio::test]
async fn a_message_in_many_frames_arrives_whole() {
    let limits = methods(CallLimits { max_message_bytes: 199, ..CallLimits::default() });
    let listener = Listener::start(ConnectionLimits::http2(), limits).await;
    let client = listener.client(LOCAL).await;
    let mut call = client.begin("Echo", &[]).await;
    for byte in ignored_field() {
        call.send(&[byte], false);
    }
    call.send(&[], true);
    assert_eq!(call.status().await.code(), Code::Ok);
    let mut cut_off = client.begin("Echo", &ignored_field()[..100]).await;
    cut_off.send(&[], true);
    assert_eq!(cut_off.status().await.code(), Code::Internal);
}

/// A message with a field of 196 bytes that the receiver does not know.
fn ignored_field() -> Vec<u8> {
    [prefix(199), vec![0x7a, 0xc4, 0x01], vec![b'x'; 196]].concat()
}

#[rstest]
#[case::no_message(&[], RequestMessages::One)]
#[case::half_a_message(&[0, 0, 0, 0, 9, 1], RequestMessages::One)]
#[case::no_end(&[0, 0, 0, 0, 0], RequestMessages::One)]
#[case::no_first_message(&[], RequestMessages::Many)]
#[case::half_a_message_of_many(&[0, 0, 0, 0, 9, 1], RequestMessages::Many)]
#[tokio::test(start_paused = true)]
async fn a_message_that_does_not_arrive_ends_its_call(
    #[case] sent: &[u8],
    #[case] messages: RequestMessages,
) {
    let limits = methods(CallLimits { messages, ..CallLimits::default() });
    let listener = Listener::start(ConnectionLimits::http2(), limits).await;
    let client = listener.client(LOCAL).await;
    let begun = Instant::now();
    let status = client.begin("Echo", sent).await.status().await;
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    assert!(status.message().starts_with("VMAFX_GRPC_TIMEOUTS_MESSAGE"), "{status}");
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(listener.reached("message_timeout"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_no_longer_than_its_method_permits() {
    let limits = methods(CallLimits { max_time: Some(Duration::from_mins(1)), ..CallLimits::default() });
    let listener = Listener::start(ConnectionLimits::http2(), limits).await;
    let client = listener.client(LOCAL).await;
    let begun = Instant::now();
    let mut call = client.begin("Silent", &prefix(0)).await;
    call.send(&[], true);
    let status = call.status().await;
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().starts_with("VMAFX_GRPC_TIMEOUTS_CALL"), "{status}");
    assert_eq!(begun.elapsed().as_secs(), 60);
}
