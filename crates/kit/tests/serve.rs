//! The limits of an HTTP listener. Time is paused, so waiting costs nothing and is exact.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Extension;
use axum::http::StatusCode;
use axum::routing::{get, post};
use futures::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use vmafx_kit::serve::{HttpLimits, HttpOptions, RequestAuthorization, serve_with};
use vmafx_kit::tasks::Shutdown;

/// Serves `router` while `client` runs against its port.
async fn serving<T>(router: Router, limits: HttpLimits, client: impl AsyncFnOnce(u16, Shutdown) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = Shutdown::new();
    let asked = async {
        let answer = client(port, shutdown.clone()).await;
        shutdown.begin();
        answer
    };
    let options = HttpOptions { limits, ..HttpOptions::default() };
    let (served, answer) = tokio::join!(serve_with(listener, router, options, shutdown.clone()), asked);
    served.unwrap();
    answer
}

fn hello() -> Router {
    Router::new().route("/", get(async || "hello"))
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// Everything that arrives until the server closes the connection.
async fn read_to_close(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A server that closes while the client still writes resets the connection; what arrived before counts.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

/// One request with the response `hello`, on a connection that stays open.
async fn get_hello(stream: &mut TcpStream) {
    stream.write_all(b"GET / HTTP/1.1\r\nhost: t\r\n\r\n").await.unwrap();
    let mut received = String::new();
    while !received.ends_with("hello") {
        let mut buffer = [0; 1024];
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "closed after {received:?}");
        received.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_cut_off() {
    serving(hello(), HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        let begun = Instant::now();
        assert_eq!(read_to_close(&mut stream).await, "");
        assert_eq!(begun.elapsed().as_secs(), 5);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_head_sent_byte_by_byte_is_cut_off() {
    serving(hello(), HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        let begun = Instant::now();
        for byte in b"GET / HTTP/1.1\r\nhost: t\r\nx: y\r\n" {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(read_to_close(&mut stream).await, "");
        assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_head_is_cut_off_on_a_used_connection_too() {
    serving(hello(), HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        get_hello(&mut stream).await;
        sleep(Duration::from_mins(1)).await;
        stream.write_all(b"GET / HT").await.unwrap();
        let begun = Instant::now();
        assert_eq!(read_to_close(&mut stream).await, "");
        assert_eq!(begun.elapsed().as_secs(), 5);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_rest_between_requests_but_not_for_ever() {
    serving(hello(), HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        for _ in 0..3 {
            get_hello(&mut stream).await;
            sleep(Duration::from_secs(100)).await;
        }
        get_hello(&mut stream).await;
        let begun = Instant::now();
        assert_eq!(read_to_close(&mut stream).await, "");
        assert_eq!(begun.elapsed().as_secs(), 120);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_take_longer_than_any_timeout_of_the_client() {
    let slow = Router::new().route(
        "/",
        get(async || {
            sleep(Duration::from_hours(1)).await;
            "done"
        }),
    );
    serving(slow, HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").await.unwrap();
        assert!(read_to_close(&mut stream).await.ends_with("done"));
    })
    .await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_answered_with_431() {
    let limits = HttpLimits { header_bytes: 4096, ..HttpLimits::default() };
    serving(hello(), limits, async |port, _| {
        let mut stream = connect(port).await;
        let head = format!("GET / HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n", "y".repeat(5000));
        let _ = stream.write_all(head.as_bytes()).await;
        let answer = read_to_close(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let echo = Router::new().route("/", post(async |body: Bytes| body));
    serving(echo, HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        let begun = Instant::now();
        stream.write_all(b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\nhalf").await.unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 400");
        assert_eq!(begun.elapsed().as_secs(), 30);
    })
    .await;
}

/// Sends a message when it is dropped.
struct NotifyOnDrop(mpsc::Sender<()>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_of_its_answer_is_cut_off() {
    let (dropped, mut gone) = mpsc::channel::<()>(1);
    let endless = Router::new().route(
        "/",
        get(async move || {
            let held = NotifyOnDrop(dropped.clone());
            let chunk = Bytes::from(vec![0_u8; 256 * 1024]);
            Body::from_stream(stream::repeat_with(move || {
                let _ = &held;
                Ok::<_, std::io::Error>(chunk.clone())
            }))
        }),
    );
    serving(endless, HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: t\r\n\r\n").await.unwrap();
        let begun = Instant::now();
        gone.recv().await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 60);
    })
    .await;
}

#[tokio::test]
async fn at_the_limit_the_next_client_waits_for_its_turn() {
    let limits = HttpLimits { connections: 1, ..HttpLimits::default() };
    serving(hello(), limits, async |port, _| {
        let mut first = connect(port).await;
        get_hello(&mut first).await;
        let mut second = connect(port).await;
        second.write_all(b"GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").await.unwrap();
        // The first connection is still served, so the second cannot have been accepted.
        get_hello(&mut first).await;
        assert!(second.try_read(&mut [0; 1]).is_err());
        drop(first);
        assert!(read_to_close(&mut second).await.ends_with("hello"));
    })
    .await;
}

/// A connection from another address of the loopback interface.
async fn connect_from_elsewhere(port: u16) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    socket.connect(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap()
}

#[tokio::test]
async fn a_peer_with_too_many_connections_is_refused_and_others_are_not() {
    let limits = HttpLimits { connections_per_peer: 1, ..HttpLimits::default() };
    serving(hello(), limits, async |port, _| {
        let mut first = connect_from_elsewhere(port).await;
        get_hello(&mut first).await;
        let mut second = connect_from_elsewhere(port).await;
        let _ = second.write_all(b"GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").await;
        assert_eq!(read_to_close(&mut second).await, "");
        get_hello(&mut connect(port).await).await;
        get_hello(&mut first).await;
    })
    .await;
}

#[tokio::test]
async fn at_the_limit_the_oldest_connection_without_an_authorized_request_makes_room() {
    let limits = HttpLimits { connections: 2, connections_unauthenticated: Some(2), ..HttpLimits::default() };
    serving(authorizing(), limits, async |port, _| {
        let (mut known, mut unknown) = (connect(port).await, connect(port).await);
        get_hello(&mut unknown).await;
        known.write_all(b"GET /authorized HTTP/1.1\r\nhost: t\r\n\r\n").await.unwrap();
        assert!(known.read(&mut [0; 1024]).await.unwrap() > 0);
        let mut new = connect(port).await;
        get_hello(&mut new).await;
        assert_eq!(read_to_close(&mut unknown).await, "");
        get_hello(&mut known).await;
    })
    .await;
}

/// Treats requests for `/authorized` as authorized.
fn authorizing() -> Router {
    let authorize = async |Extension(request): Extension<RequestAuthorization>| {
        request.authorized();
        "done"
    };
    hello().route("/authorized", get(authorize))
}

#[tokio::test]
async fn a_head_of_more_than_32_kib_is_too_large() {
    serving(hello(), HttpLimits::default(), async |port, _| {
        let mut stream = connect(port).await;
        let head = format!("GET / HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n", "y".repeat(33 * 1024));
        let _ = stream.write_all(head.as_bytes()).await;
        let answer = read_to_close(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
        // A token may have 16 KiB.
        let mut stream = connect(port).await;
        let head = format!("GET / HTTP/1.1\r\nhost: t\r\nx: {}\r\n", "y".repeat(24 * 1024));
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(b"connection: close\r\n\r\n").await.unwrap();
        assert!(read_to_close(&mut stream).await.ends_with("hello"));
    })
    .await;
}

#[tokio::test]
async fn shutdown_waits_for_answers_and_for_nothing_else() {
    let (arrived, mut arrivals) = mpsc::channel(1);
    let router = Router::new().route("/", get(async || "hello")).route(
        "/slow",
        get(async move || {
            let (answer, awaited) = tokio::sync::oneshot::channel::<()>();
            arrived.send(answer).await.unwrap();
            awaited.await.unwrap();
            (StatusCode::OK, "late")
        }),
    );
    serving(router, HttpLimits::default(), async |port, shutdown| {
        let _fresh = connect(port).await;
        let mut idle = connect(port).await;
        get_hello(&mut idle).await;
        let mut busy = connect(port).await;
        busy.write_all(b"GET /slow HTTP/1.1\r\nhost: t\r\n\r\n").await.unwrap();
        let answer = arrivals.recv().await.unwrap();
        shutdown.begin();
        assert_eq!(read_to_close(&mut idle).await, "");
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "still listening");
        answer.send(()).unwrap();
        assert!(read_to_close(&mut busy).await.ends_with("late"));
    })
    .await;
}
