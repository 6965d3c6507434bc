//! When the connections of a gRPC listener end, and what their calls see of it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[allow(dead_code, reason = "the tests of the channel use the rest")]
mod grpc;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures::{Stream, StreamExt};
use grpc::{Pki, call, open_stream};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::Code;
use vmafx_kit::channel::{ChannelArgs, GrpcChannel, streaming};
use vmafx_kit::config::{Environment, parse};
use vmafx_kit::health::ServingSignal;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::serve::{
    ConnectionAge, ConnectionLimits, GrpcLifetimes, GrpcLimits, LimitMetrics, ServerConnection, incoming,
    serve_grpc,
};
use vmafx_kit::tasks::Shutdown;
use vmafx_kit::tls::{
    AuthoritiesFile, CertificateMetrics, CertificatePurpose, ServerTls, TlsFiles, TlsVariables,
};

#[derive(Debug, clap::Parser)]
struct Args {
    #[command(flatten)]
    channel: ChannelArgs,
}

struct Listener {
    channel: GrpcChannel,
    connections: Arc<AtomicUsize>,
    lifetimes: GrpcLifetimes,
    running: JoinSet<()>,
}

impl Listener {
    async fn start(age: ConnectionAge) -> Self {
        Self::with(age, None, &[]).await
    }

    async fn with(age: ConnectionAge, tls: Option<ServerTls>, client: &[(&str, &str)]) -> Self {
        let lifetimes = GrpcLifetimes { age, serving: ServingSignal::default(), shutdown: Shutdown::new() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string().parse().unwrap();
        let connections: Arc<AtomicUsize> = Arc::default();
        let service = tonic::service::Routes::from(grpc::routes(&Arc::default())).prepare();
        let accepted = incoming(listener, tls, ConnectionLimits::http2(), LimitMetrics::default());
        let served =
            serve_grpc(counted(accepted, &connections), service, lifetimes.clone(), GrpcLimits::default());
        let mut running = JoinSet::new();
        running.spawn(async { served.await.unwrap() });
        let channel = match parse::<Args>(["t"], &client.iter().copied().collect::<Environment>(), &[]) {
            Ok(args) => args.channel.open(&addr).unwrap(),
            Err(exit) => panic!("{exit:?}"),
        };
        Self { channel, connections, lifetimes, running }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    async fn echo(&self) {
        call(&self.channel, "Echo", ()).await.unwrap();
    }
}

fn counted(
    connections: impl Stream<Item = ServerConnection> + Send + 'static,
    count: &Arc<AtomicUsize>,
) -> impl Stream<Item = ServerConnection> + Send + 'static {
    let count = count.clone();
    connections.inspect(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    })
}

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test(start_paused = true)]
async fn a_client_gets_a_new_connection_when_its_own_is_too_old() {
    let listener = Listener::start(ConnectionAge { max: Some(HOUR), grace: None }).await;
    listener.echo().await;
    tokio::time::sleep(HOUR.mul_f64(0.89)).await;
    listener.echo().await;
    assert_eq!(listener.connections(), 1);
    tokio::time::sleep(HOUR.mul_f64(0.22)).await;
    listener.echo().await;
    assert_eq!(listener.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_on_an_old_connection_or_with_the_grace_period() {
    let age = ConnectionAge { max: Some(Duration::from_secs(30)), grace: Some(HOUR) };
    let listener = Listener::start(age).await;
    let mut ends = open_stream(&listener.channel, "Late", streaming(())).await.unwrap();
    let mut endless = open_stream(&listener.channel, "Stall", streaming(())).await.unwrap();
    tokio::time::sleep(Duration::from_secs(40)).await;
    listener.echo().await;
    assert_eq!(listener.connections(), 2);
    assert_eq!(ends.message().await.unwrap().as_deref(), Some("at last"));
    let status = endless.message().await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
}

#[tokio::test]
async fn clients_leave_a_process_that_stops_serving_and_their_running_calls_finish() {
    let listener = Listener::start(ConnectionAge::default()).await;
    let mut stream = open_stream(&listener.channel, "Two", streaming(())).await.unwrap();
    assert_eq!(stream.message().await.unwrap().as_deref(), Some("first"));
    listener.lifetimes.serving.set(false);
    let moved = || async {
        listener.echo().await;
        listener.connections() == 2
    };
    until(moved).await;
    assert_eq!(stream.message().await.unwrap().as_deref(), Some("second"));
    // Connections that were made since then stay.
    listener.echo().await;
    assert_eq!(listener.connections(), 2);
}

#[tokio::test]
async fn a_shutdown_lets_running_calls_finish() {
    let mut listener = Listener::start(ConnectionAge::default()).await;
    let mut stream = open_stream(&listener.channel, "Two", streaming(())).await.unwrap();
    assert_eq!(stream.message().await.unwrap().as_deref(), Some("first"));
    listener.lifetimes.shutdown.begin();
    assert_eq!(stream.message().await.unwrap().as_deref(), Some("second"));
    assert_eq!(stream.message().await.unwrap(), None);
    tokio::time::timeout(HOUR, listener.running.join_next()).await.unwrap().unwrap().unwrap();
    let refused = call(&listener.channel, "Echo", ()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
}

#[tokio::test]
async fn an_authority_replaced_on_disk_is_used_by_the_next_connection() {
    let (old, new) = (Pki::new("old", "localhost"), Pki::new("new", "localhost"));
    let directory = tempfile::tempdir().unwrap();
    let [ca, cert, key, next] =
        ["ca.pem", "tls.crt", "tls.key", "next"].map(|name| directory.path().join(name));
    std::fs::copy(&old.ca_file, &ca).unwrap();
    old.write_pair(&cert, &key);
    let variables = TlsVariables { switch: "T_TLS=true", cert: "T_CERT", key: "T_KEY" };
    let files = TlsFiles { cert: cert.clone(), key: key.clone(), variables };
    let tls = ServerTls::open(files, &["h2"]).await.unwrap();
    // Connections end all the time, because a new authority counts for new connections.
    let age = ConnectionAge { max: Some(Duration::from_millis(20)), grace: None };
    let client = [
        ("VMAFX_CONTROLLER_TLS", "true"),
        ("VMAFX_CONTROLLER_CA_FILE", ca.to_str().unwrap()),
        ("VMAFX_CONTROLLER_SERVER_NAME", "localhost"),
    ];
    let listener = Listener::with(age, Some(tls), &client).await;
    listener.echo().await;

    new.write_pair(&cert, &key);
    let refusal = || async { call(&listener.channel, "Echo", ()).await.err() };
    until(|| async { refusal().await.is_some() }).await;
    // A file that is not usable yet changes nothing.
    std::fs::write(&ca, "half writ").unwrap();
    let status = refusal().await.unwrap();
    assert!(status.message().contains("its certificate was not signed by"), "{status}");
    std::fs::copy(&new.ca_file, &next).unwrap();
    std::fs::rename(&next, &ca).unwrap();
    listener.echo().await;
}

/// A server and a client that verify each other, with certificates that expire at these times.
struct MutualTls {
    directory: tempfile::TempDir,
    tls: ServerTls,
}

impl MutualTls {
    async fn new(server: SystemTime, client: SystemTime) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, end) in [("server", server), ("client", client)] {
            let pki = Pki::until(name, "localhost", Some(end));
            let [ca, cert, key] =
                ["ca", "cert", "key"].map(|part| directory.path().join(format!("{name}.{part}")));
            std::fs::copy(&pki.ca_file, ca).unwrap();
            pki.write_pair(&cert, &key);
        }
        let file = |name: &str| directory.path().join(name);
        let variables = TlsVariables { switch: "T_TLS=true", cert: "T_CERT", key: "T_KEY" };
        let files = TlsFiles { cert: file("server.cert"), key: file("server.key"), variables };
        let clients = AuthoritiesFile::open(file("client.ca"), "T_CA").unwrap();
        let tls = ServerTls::open_verifying(files, Some(clients), &["h2"]).await.unwrap();
        Self { directory, tls }
    }

    async fn listener(&self, age: ConnectionAge) -> Listener {
        let file = |name: &str| self.directory.path().join(name).display().to_string();
        let [ca, cert, key] = ["server.ca", "client.cert", "client.key"].map(file);
        let client = [
            ("VMAFX_CONTROLLER_TLS", "true"),
            ("VMAFX_CONTROLLER_CA_FILE", &ca),
            ("VMAFX_CONTROLLER_CERT_FILE", &cert),
            ("VMAFX_CONTROLLER_KEY_FILE", &key),
            ("VMAFX_CONTROLLER_SERVER_NAME", "localhost"),
        ];
        Listener::with(age, Some(self.tls.clone()), &client).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_a_new_connection_when_its_certificate_expires() {
    let now = SystemTime::now();
    let mutual = MutualTls::new(now + HOUR * 24, now + HOUR).await;
    let listener = mutual.listener(ConnectionAge::default()).await;
    listener.echo().await;
    tokio::time::sleep(HOUR.mul_f64(0.9)).await;
    listener.echo().await;
    assert_eq!(listener.connections(), 1);
    tokio::time::sleep(HOUR.mul_f64(0.2)).await;
    listener.echo().await;
    assert_eq!(listener.connections(), 2);
}

#[tokio::test]
async fn a_client_certificate_replaced_on_disk_is_presented_by_the_next_connection() {
    let end = SystemTime::now() + HOUR;
    let mutual = MutualTls::new(end, end).await;
    // Connections end all the time, because a new certificate counts for new connections.
    let listener = mutual.listener(ConnectionAge { max: Some(Duration::from_millis(20)), grace: None }).await;
    listener.echo().await;

    let file = |name: &str| mutual.directory.path().join(name);
    let next = Pki::new("next", "localhost");
    std::fs::copy(&next.ca_file, file("next.ca")).unwrap();
    std::fs::rename(file("next.ca"), file("client.ca")).unwrap();
    until(|| async {
        let refused = call(&listener.channel, "Echo", ()).await.err();
        refused.is_some_and(|status| status.message().contains("it refused the client certificate in"))
    })
    .await;
    next.write_pair(&file("client.cert"), &file("client.key"));
    until(|| async { call(&listener.channel, "Echo", ()).await.is_ok() }).await;
}

#[tokio::test]
async fn the_end_of_each_certificate_and_authority_in_use_is_a_metric() {
    let (seconds, day) =
        (|end: SystemTime| end.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), HOUR * 24);
    let now = SystemTime::now();
    let mutual = MutualTls::new(now + day, now + HOUR).await;
    let listener = mutual.listener(ConnectionAge::default()).await;
    let mut metrics = Metrics::new("1");
    let certificates = CertificateMetrics::new(&mut metrics);
    certificates.server(CertificatePurpose::GrpcServer, &mutual.tls);
    certificates.channel(&listener.channel);
    let end = |purpose: &str| {
        let start = format!("vmafx_tls_certificate_not_after_seconds{{purpose=\"{purpose}\",index=\"0\"}} ");
        let page = metrics.encode().unwrap();
        page.lines().find_map(|line| line.strip_prefix(&start)).map(|end| end.parse::<u64>().unwrap())
    };
    assert_eq!(end("grpc-server"), Some(seconds(now + day)));
    assert_eq!(end("client"), Some(seconds(now + HOUR)));
    // That of the authorities of this test is the latest that a certificate can have by default.
    let authorities = end("controller-authorities");
    assert!(authorities > end("grpc-server") && authorities == end("client-authorities"), "{authorities:?}");

    // No connection is needed to see a renewal, and a file that cannot be used shows the end of what is in use.
    let file = |name: &str| mutual.directory.path().join(name);
    Pki::until("client", "localhost", Some(now + day)).write_pair(&file("client.cert"), &file("client.key"));
    assert_eq!(end("client"), Some(seconds(now + day)));
    std::fs::write(file("client.cert"), "half writ").unwrap();
    assert_eq!(end("client"), Some(seconds(now + day)));
}

/// Polls until the condition holds.
async fn until<F: Future<Output = bool>>(mut condition: impl FnMut() -> F) {
    let poll = async {
        while !condition().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), poll).await.unwrap();
}
