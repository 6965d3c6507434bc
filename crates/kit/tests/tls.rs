//! Server TLS with certificates that change.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod authority;

use std::sync::Arc;
use std::time::Duration;

use authority::Authority;
use axum::Router;
use axum::routing::get;
use futures::StreamExt;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use vmafx_kit::serve::{ConnectionLimits, HttpOptions, LimitMetrics, incoming, serve_with};
use vmafx_kit::tasks::Shutdown;
use vmafx_kit::tls::{AuthoritiesFile, ServerTls, TlsFiles, TlsVariables};

const VARIABLES: TlsVariables = TlsVariables { switch: "T_TLS=true", cert: "T_CERT", key: "T_KEY" };

/// The files of one server, replaced as the kubelet does: a link to another directory is renamed over the old link.
struct MountedCertificate {
    directory: tempfile::TempDir,
    versions: u32,
}

impl MountedCertificate {
    fn with(cert: &str, key: &str) -> Self {
        let mut mounted = Self { directory: tempfile::tempdir().unwrap(), versions: 0 };
        mounted.swap(cert, key);
        mounted
    }

    fn swap(&mut self, cert: &str, key: &str) {
        self.versions += 1;
        let root = self.directory.path();
        let version = root.join(format!("version-{}", self.versions));
        std::fs::create_dir(&version).unwrap();
        std::fs::write(version.join("tls.crt"), cert).unwrap();
        std::fs::write(version.join("tls.key"), key).unwrap();
        std::os::unix::fs::symlink(&version, root.join("next")).unwrap();
        std::fs::rename(root.join("next"), root.join("data")).unwrap();
    }

    fn files(&self) -> TlsFiles {
        let data = self.directory.path().join("data");
        TlsFiles { cert: data.join("tls.crt"), key: data.join("tls.key"), variables: VARIABLES }
    }
}

async fn connect(port: u16, authority: &Authority) -> std::io::Result<TlsStream<TcpStream>> {
    let connector = TlsConnector::from(Arc::new(authority.client()));
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    connector.connect(ServerName::try_from("localhost").unwrap(), stream).await
}

/// The certificate that the server presented.
fn presented(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

async fn get_hello(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nhost: t\r\n\r\n").await.unwrap();
    let mut buffer = [0; 1024];
    let mut received = String::new();
    while !received.ends_with("hello") {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "closed after {received:?}");
        received.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    received
}

async fn serving<T>(tls: ServerTls, client: impl AsyncFnOnce(u16) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = Shutdown::new();
    let options = HttpOptions { tls: Some(tls), ..HttpOptions::default() };
    let router = Router::new().route("/", get(async || "hello"));
    let asked = async {
        let answer = client(port).await;
        shutdown.begin();
        answer
    };
    let (served, answer) = tokio::join!(serve_with(listener, router, options, shutdown.clone()), asked);
    served.unwrap();
    answer
}

#[tokio::test(start_paused = true)]
async fn a_replaced_certificate_is_shown_to_new_clients_and_old_ones_stay() {
    let authority = Authority::new();
    let (first, second) = (authority.server(), authority.server());
    let mut mounted = MountedCertificate::with(&first.cert, &first.key);
    let tls = ServerTls::open(mounted.files(), &["http/1.1"]).await.unwrap();
    serving(tls, async |port| {
        let mut old = connect(port, &authority).await.unwrap();
        assert_eq!(presented(&old), first.der);
        assert!(get_hello(&mut old).await.starts_with("HTTP/1.1 200"));

        mounted.swap(&second.cert, &second.key);
        tokio::time::advance(Duration::from_secs(1)).await;
        let mut new = connect(port, &authority).await.unwrap();
        assert_eq!(presented(&new), second.der);
        assert!(get_hello(&mut new).await.starts_with("HTTP/1.1 200"));
        assert!(get_hello(&mut old).await.starts_with("HTTP/1.1 200"));
    })
    .await;
}

#[tokio::test]
async fn a_session_is_not_resumed_where_clients_are_verified() {
    let authority = Authority::new();
    let pair = authority.server();
    let mounted = MountedCertificate::with(&pair.cert, &pair.key);
    let file = mounted.directory.path().join("ca.crt");
    std::fs::write(&file, authority.pem()).unwrap();
    for verifying in [false, true] {
        let clients = verifying.then(|| AuthoritiesFile::open(file.clone(), "T_CA").unwrap());
        let tls = ServerTls::open_verifying(mounted.files(), clients, &["http/1.1"]).await.unwrap();
        let tickets = serving(tls, async |port| {
            let mut client = connect(port, &authority).await.unwrap();
            get_hello(&mut client).await;
            client.get_ref().1.tls13_tickets_received()
        });
        assert_eq!(tickets.await == 0, verifying);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pair_that_does_not_fit_changes_nothing_until_one_fits() {
    let authority = Authority::new();
    let (first, second) = (authority.server(), authority.server());
    let mut mounted = MountedCertificate::with(&first.cert, &first.key);
    let tls = ServerTls::open(mounted.files(), &["http/1.1"]).await.unwrap();
    serving(tls, async |port| {
        for (cert, key) in [
            (second.cert.as_str(), first.key.as_str()),
            ("garbage", second.key.as_str()),
            (second.cert.as_str(), ""),
        ] {
            mounted.swap(cert, key);
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(presented(&connect(port, &authority).await.unwrap()), first.der);
        }
        std::fs::remove_file(mounted.directory.path().join("data")).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(presented(&connect(port, &authority).await.unwrap()), first.der);

        mounted.swap(&second.cert, &second.key);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(presented(&connect(port, &authority).await.unwrap()), second.der);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_in_its_handshake_holds_up_nobody() {
    let authority = Authority::new();
    let pair = authority.server();
    let mounted = MountedCertificate::with(&pair.cert, &pair.key);
    let tls = ServerTls::open(mounted.files(), &["http/1.1"]).await.unwrap();
    serving(tls, async |port| {
        let mut mute = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        mute.write_all(&[0x16, 0x03]).await.unwrap();
        let mut other = connect(port, &authority).await.unwrap();
        get_hello(&mut other).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(mute.read(&mut [0; 64]).await.unwrap_or(0), 0);
        assert_eq!(begun.elapsed().as_secs(), 10);
    })
    .await;
}

#[tokio::test]
async fn a_certificate_from_memory_is_shown_once_it_is_there_and_replaced_while_serving() {
    let authority = Authority::new();
    let (first, second) = (authority.server(), authority.server());
    let chain = |pair: &authority::KeyPairPem| vec![CertificateDer::from(pair.der.clone())];
    let key = |pair: &authority::KeyPairPem| PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let tls = ServerTls::in_memory(&["http/1.1"]).unwrap();
    serving(tls.clone(), async |port| {
        assert!(connect(port, &authority).await.is_err());
        tls.replace(chain(&first), key(&first)).unwrap();
        let mut old = connect(port, &authority).await.unwrap();
        assert_eq!(presented(&old), first.der);

        assert!(tls.replace(chain(&second), key(&first)).is_err());
        assert_eq!(presented(&connect(port, &authority).await.unwrap()), first.der);
        tls.replace(chain(&second), key(&second)).unwrap();
        assert_eq!(presented(&connect(port, &authority).await.unwrap()), second.der);
        assert!(get_hello(&mut old).await.starts_with("HTTP/1.1 200"));
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_at_start_and_named() {
    let authority = Authority::new();
    let (first, second) = (authority.server(), authority.server());
    let open_error = async |cert: &str, key: &str| {
        let mounted = MountedCertificate::with(cert, key);
        let error = ServerTls::open(mounted.files(), &[]).await.unwrap_err();
        let data = mounted.directory.path().join("data");
        let text = anyhow::Error::from(error).chain().map(ToString::to_string).collect::<Vec<_>>();
        text[1].replace(data.to_str().unwrap(), "D")
    };
    assert_eq!(open_error("", &first.key).await, "D/tls.crt contains no PEM certificate (T_CERT)");
    assert_eq!(open_error(&first.cert, "?").await, "D/tls.key contains no PEM private key (T_KEY)");
    assert_eq!(
        open_error(&first.cert, &second.key).await,
        "the certificate in D/tls.crt and the private key in D/tls.key cannot be used together"
    );
}

#[tokio::test]
async fn grpc_is_served_over_tls_by_the_same_connections() {
    let authority = Authority::new();
    let pair = authority.server();
    let mounted = MountedCertificate::with(&pair.cert, &pair.key);
    let tls = ServerTls::open(mounted.files(), &["h2"]).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = Shutdown::new();
    let routes = tonic::service::Routes::from(Router::new());
    let served = tonic::transport::Server::builder().add_routes(routes).serve_with_incoming_shutdown(
        incoming(listener, Some(tls), ConnectionLimits::http2(), LimitMetrics::default())
            .map(Ok::<_, std::io::Error>),
        shutdown.begun(),
    );
    let asked = async {
        let tls = tonic::transport::ClientTlsConfig::new()
            .domain_name("localhost")
            .ca_certificate(tonic::transport::Certificate::from_pem(authority.pem()));
        let endpoint = tonic::transport::Endpoint::from_shared(format!("https://127.0.0.1:{port}")).unwrap();
        let channel = endpoint.tls_config(tls).unwrap().connect().await.unwrap();
        let mut client = tonic::client::Grpc::new(channel);
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<String, String>::default();
        let path = http::uri::PathAndQuery::from_static("/t.Test/Nothing");
        let status = client.unary(tonic::Request::new(String::new()), path, codec).await.unwrap_err();
        shutdown.begin();
        status.code()
    };
    let (served, code) = tokio::join!(served, asked);
    served.unwrap();
    assert_eq!(code, tonic::Code::Unimplemented);
}

#[tokio::test]
async fn a_client_without_tls_is_served_only_where_tls_is_optional() {
    let authority = Authority::new();
    let server = authority.server();
    let mounted = MountedCertificate::with(&server.cert, &server.key);
    for optional in [false, true] {
        let tls = ServerTls::open(mounted.files(), &["http/1.1"]).await.unwrap().optional(optional);
        serving(tls, async |port| {
            let mut plain = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            plain.write_all(b"GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").await.unwrap();
            let mut received = Vec::new();
            let _ = plain.read_to_end(&mut received).await;
            assert_eq!(received.ends_with(b"hello"), optional);
            let mut encrypted = connect(port, &authority).await.unwrap();
            assert!(get_hello(&mut encrypted).await.starts_with("HTTP/1.1 200"));
        })
        .await;
    }
}
