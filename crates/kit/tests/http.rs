//! Health and metrics over a real socket.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

use std::sync::Arc;

use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vmafx_kit::config::ListenAddr;
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::Shutdown;

const ANY: &str = "127.0.0.1:0";

/// Serves `router` while `client` runs against its port.
async fn serving<T>(router: Router, client: impl AsyncFnOnce(u16) -> T) -> T {
    let listener = listen("VMAFX_T_ADDR", &ANY.parse().unwrap()).await.unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = Shutdown::new();
    let asked = async {
        let answer = client(port).await;
        shutdown.begin();
        answer
    };
    let (served, answer) = tokio::join!(serve(listener, router, shutdown.clone()), asked);
    served.unwrap();
    answer
}

async fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn readyz_lists_what_is_missing_and_why() {
    let readiness = Readiness::new(Shutdown::new());
    let store = readiness.gate("store", "not open yet");
    let cache = readiness.gate("cache", "3 of 4 kinds are synced");
    serving(health::router(readiness), async |port| {
        let answer = get(port, "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(
            answer.ends_with("not ready:\n- cache: 3 of 4 kinds are synced\n- store: not open yet\n"),
            "{answer}"
        );

        store.open();
        cache.open();
        assert!(get(port, "/readyz").await.starts_with("HTTP/1.1 200"));

        store.close("disk full");
        assert!(get(port, "/readyz").await.ends_with("- store: disk full\n"));
    })
    .await;
}

#[tokio::test]
async fn healthz_answers_even_when_nothing_is_ready() {
    let readiness = Readiness::new(Shutdown::new());
    let _store = readiness.gate("store", "not open yet");
    let answer = serving(health::router(readiness), async |port| get(port, "/healthz").await).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn one_port_can_serve_all() {
    let readiness = Readiness::new(Shutdown::new());
    let router = health::router(readiness).merge(metrics::router(Arc::new(Metrics::new("1.2.3"))));
    serving(router, async |port| {
        assert!(get(port, "/readyz").await.starts_with("HTTP/1.1 200"));
        let page = get(port, "/metrics").await;
        assert!(page.contains("content-type: application/openmetrics-text"), "{page}");
        assert!(page.contains("vmafx_build_info{version=\"1.2.3\"} 1\n"), "{page}");
        assert!(page.ends_with("# EOF\n"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_names_variable_and_address() {
    let taken = listen("VMAFX_T_ADDR", &":0".parse().unwrap()).await.unwrap().unwrap();
    let addr = format!(":{}", taken.local_addr().unwrap().port());
    let error = listen("VMAFX_OPERATOR_METRICS_ADDR", &addr.parse().unwrap()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot listen on {addr} (VMAFX_OPERATOR_METRICS_ADDR)"));
    assert!(anyhow::Error::from(error).root_cause().to_string().contains("in use"));
}

#[tokio::test]
async fn an_address_that_is_off_opens_nothing() {
    assert!(listen("VMAFX_T_ADDR", &ListenAddr::Off).await.unwrap().is_none());
}

#[tokio::test]
async fn every_interface_takes_ipv4_too() {
    let listener = listen("VMAFX_T_ADDR", &":0".parse().unwrap()).await.unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    TcpStream::connect(("127.0.0.1", port)).await.unwrap();
}

/// The IPv4 half is free here; binding only that would leave IPv6 clients with another program.
#[tokio::test]
async fn a_port_half_in_use_is_in_use() {
    let Ok(taken) = listen("VMAFX_T_ADDR", &"[::1]:0".parse().unwrap()).await else {
        return; // this machine has no IPv6
    };
    let taken = taken.unwrap();
    let addr = format!(":{}", taken.local_addr().unwrap().port());
    assert!(listen("VMAFX_T_ADDR", &addr.parse().unwrap()).await.is_err());
}
