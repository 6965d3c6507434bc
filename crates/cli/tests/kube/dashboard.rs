//! `dashboard`: a real controller with TLS, which verifies tokens by the keys of the API server. The kubelet of the tests forwards
//! the ports.

use std::net::SocketAddr;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vmafx_testkit::controller::ControllerServer;
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::wait;

use crate::harness::{Harness, RunningCommand, TIMEOUT};
use crate::kubelet::Kubelet;

vmafx_testkit::controller_in_test_program!();

const OWN_PAGE: [&str; 2] = ["sec-fetch-site: same-origin", "x-vmafx-request: dashboard"];

struct Fixture {
    harness: Harness,
    kubelet: Kubelet,
    controller: ControllerServer,
    _files: tempfile::TempDir,
}

impl Fixture {
    /// A controller with these variables, in whose namespace the ServiceAccount `writer` has a role and `stranger` has none.
    async fn start(variables: &[(&str, &str)]) -> Self {
        let harness = Harness::new().await;
        let (ns, cluster) = (harness.ns.name().to_owned(), harness.ns.cluster());
        let host = format!("vmafx-controller.{ns}.svc.cluster.local");
        let pair = rcgen::generate_simple_self_signed(vec![host]).unwrap();
        let own = TestServiceAccount::create(cluster, &ns, "controller", &[]).await.unwrap();
        for account in ["writer", "stranger"] {
            TestServiceAccount::create(cluster, &ns, account, &[]).await.unwrap();
        }
        let files = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = files.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let server = cluster.config().cluster_url.to_string();
        let settings = [
            ("VMAFX_AUTH_DISABLED", "false".to_owned()),
            ("VMAFX_JWKS_ENDPOINT", format!("{}/openid/v1/jwks", server.trim_end_matches('/'))),
            ("VMAFX_JWKS_CA_FILE", file("cluster.crt", own.authority_pem())),
            ("VMAFX_JWKS_TOKEN_FILE", file("token", own.token())),
            ("VMAFX_AUTH_AUDIENCE", "vmafx-controller".to_owned()),
            ("VMAFX_AUTH_SUBJECTS", format!("system:serviceaccount:{ns}:writer=vmafx:writer")),
            ("VMAFX_AUTH_DEFAULT_TENANT", "studio".to_owned()),
            ("VMAFX_NODE_STATUS", "false".to_owned()),
            ("VMAFX_HTTP_TLS", "true".to_owned()),
            // The harness asks without TLS whether the controller is ready.
            ("VMAFX_HTTP_TLS_OPTIONAL", "true".to_owned()),
            ("VMAFX_HTTP_CERT_FILE", file("tls.crt", &pair.cert.pem())),
            ("VMAFX_HTTP_KEY_FILE", file("tls.key", &pair.signing_key.serialize_pem())),
        ];
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let controller = controller_config().envs(&settings).envs(variables).start().await.unwrap();

        let kubelet = Kubelet::start(&harness, "").await;
        let fixture = Self { harness, kubelet, controller, _files: files };
        fixture.create_service(&pair.cert.pem()).await;
        fixture.create_pod("first").await;
        fixture
    }

    /// What the chart and the operator create.
    async fn create_service(&self, authority: &str) {
        let (client, ns) = (self.harness.ns.client(), self.harness.ns.name());
        let labels =
            json!({ "app.kubernetes.io/part-of": "vmafx", "app.kubernetes.io/component": "controller" });
        let ports = json!([
            { "name": "http", "port": 8080, "targetPort": "http" },
            { "name": "grpc", "port": 9090, "appProtocol": "https" },
        ]);
        let service = json!({ "metadata": { "name": "vmafx-controller", "labels": labels },
            "spec": { "selector": { "app.kubernetes.io/component": "controller" }, "ports": ports } });
        let services: Api<Service> = Api::namespaced(client.clone(), ns);
        services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
        let map = json!({ "metadata": { "name": "vmafx-controller-ca" }, "data": { "ca.crt": authority } });
        let maps: Api<ConfigMap> = Api::namespaced(client, ns);
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.harness.ns.client(), self.harness.ns.name())
    }

    /// A Pod of the controller that is ready.
    async fn create_pod(&self, name: &str) {
        let port = json!({ "name": "http", "containerPort": self.controller.http().port() });
        let pod = json!({
            "metadata": { "name": name, "labels": { "app.kubernetes.io/component": "controller" } },
            "spec": { "nodeName": self.kubelet.node, "containers": [{ "name": "controller", "image": "x", "ports": [port] }] },
        });
        self.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        let status = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
        self.pods().patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    async fn delete_pod(&self, name: &str) {
        self.pods().delete(name, &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let common = ["dashboard", "--no-browser", "--controller-namespace", self.harness.ns.name()];
        [&common, more].concat()
    }

    async fn open(&self) -> Dashboard {
        let command = self.harness.command(&self.words(&["--service-account", "writer"]));
        let running = RunningCommand::start(&self.harness, command);
        running.until("Press Ctrl-C").await;
        let printed = running.stdout();
        let (address, code) = printed.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut dashboard = Dashboard { running, address: address.parse().unwrap(), cookie: String::new() };
        let signed_in = dashboard.request("GET", &format!("/{code}"), &[]).await;
        assert_eq!(signed_in.status, 200, "{signed_in:?}");
        let set = signed_in.header("set-cookie");
        dashboard.cookie = format!("cookie: {}", set.split(';').next().unwrap());
        dashboard
    }

    fn error(&self, words: &[&str]) -> String {
        self.harness.kube(&self.words(words)).error()
    }
}

/// The command, and the cookie of its browser.
struct Dashboard {
    running: RunningCommand,
    address: SocketAddr,
    cookie: String,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value).unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Dashboard {
    async fn send(&self, method: &str, path: &str, lines: &[&str], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let host = format!("host: {}", self.address);
        let host: &[&str] = if lines.iter().any(|line| line.starts_with("host:")) { &[] } else { &[&host] };
        let length = format!("content-length: {}", body.len());
        let head = [host, &["connection: close", "content-type: application/json", &length], lines].concat();
        let request = format!("{method} {path} HTTP/1.1\r\n{}\r\n\r\n{body}", head.join("\r\n"));
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn exchange(&self, method: &str, path: &str, lines: &[&str], body: &str) -> Reply {
        let mut text = Vec::new();
        self.send(method, path, lines, body).await.read_to_end(&mut text).await.unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    async fn request(&self, method: &str, path: &str, lines: &[&str]) -> Reply {
        self.exchange(method, path, lines, "").await
    }

    /// A request of the browser that opened the address.
    async fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[&self.cookie]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_that_opened_the_address_has_the_rights_of_the_account() {
    let fixture = Fixture::start(&[]).await;
    let dashboard = fixture.open().await;
    let page = dashboard.get("/").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.body.contains("<script"), "{page:?}");

    let subject = format!("system:serviceaccount:{}:writer", fixture.harness.ns.name());
    dashboard.running.until(&format!("as {subject} (vmafx:writer)")).await;
    let session = dashboard.get("/session").await.json();
    let caller = json!({ "subject": subject, "tenant": "studio", "roles": ["vmafx:writer"] });
    assert_eq!(session, json!({ "signInRequired": false, "caller": caller }));
    let out = dashboard.request("DELETE", "/session", &[&[&*dashboard.cookie][..], &OWN_PAGE].concat()).await;
    assert!(out.status == 409 && out.body.contains("signs in by itself"), "{out:?}");

    // An event arrives while its stream stays open.
    let mut events = dashboard.send("GET", "/v1/events?changesOnly=true", &[&dashboard.cookie], "").await;
    let mut seen = String::new();
    read_until(&mut events, &mut seen, "text/event-stream").await;
    let clips =
        json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" } }).to_string();
    let own = [&[&*dashboard.cookie][..], &OWN_PAGE].concat();
    let made = dashboard.exchange("POST", "/v1/jobs", &own, &clips).await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    read_until(&mut events, &mut seen, &id).await;
    assert!(dashboard.get("/v1/jobs").await.body.contains(&id));

    dashboard.running.interrupt();
    assert_eq!(dashboard.running.end().await.code, Some(130));
}

async fn read_until(stream: &mut TcpStream, seen: &mut String, text: &str) {
    let mut buffer = [0; 4096];
    while !seen.contains(text) {
        let read = tokio::time::timeout(TIMEOUT, stream.read(&mut buffer)).await;
        assert!(read.is_ok(), "no {text:?} in {seen:?}");
        let length = read.unwrap().unwrap();
        assert_ne!(length, 0, "the stream ended before {text:?}: {seen:?}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_has_them() {
    let fixture = Fixture::start(&[]).await;
    let dashboard = fixture.open().await;
    let cookie = dashboard.cookie.as_str();
    for path in ["/", "/session", "/v1/jobs", "/?session=0", "/?session="] {
        assert_eq!(dashboard.request("GET", path, &[]).await.status, 403, "{path}");
    }
    let rebound = dashboard.request("GET", "/v1/jobs", &["host: evil.example", cookie]).await;
    assert!(rebound.status == 403 && !rebound.body.contains("jobs"), "{rebound:?}");
    for foreign in [
        &["sec-fetch-site: same-site", OWN_PAGE[1]][..],
        &["sec-fetch-site: cross-site", OWN_PAGE[1]],
        &["origin: http://127.0.0.1:1", OWN_PAGE[1]],
        &[OWN_PAGE[0]],
        &[],
    ] {
        let changed = dashboard.request("POST", "/v1/jobs", &[&[cookie], foreign].concat()).await;
        assert_eq!(changed.status, 403, "{foreign:?}");
        assert!(changed.body.contains("pages of this dashboard only"), "{changed:?}");
    }
    assert!(!dashboard.get("/v1/jobs").await.body.contains("scoring"), "a refused change was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_connects_again_to_another_pod() {
    let mut fixture = Fixture::start(&[]).await;
    let dashboard = fixture.open().await;
    fixture.controller.kill().unwrap();
    fixture.delete_pod("first").await;
    let away = dashboard.get("/v1/jobs").await;
    assert_eq!(away.status, 502, "{away:?}");
    assert!(away.json()["error"].as_str().unwrap().contains("has no Pod that is ready"), "{away:?}");
    dashboard.running.until("The pages try again by themselves").await;

    fixture.controller.restart().await.unwrap();
    fixture.create_pod("second").await;
    let back = async || {
        let reply = dashboard.get("/v1/jobs").await;
        if reply.status == 200 { Ok(()) } else { Err(format!("{reply:?}")) }
    };
    wait::until(TIMEOUT, "the controller", back).await.unwrap();
    dashboard.running.until("The controller responds again").await;
    let forwarded = fixture.kubelet.requests();
    assert!(forwarded.last().unwrap().contains("/second?"), "{forwarded:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_named() {
    let fixture = Fixture::start(&[]).await;
    let error = fixture.error(&[]);
    assert!(error.contains("needs a token: give --service-account"), "{error}");
    let error = fixture.error(&["--service-account", "stranger"]);
    assert!(error.contains("does not accept the token of ServiceAccount"), "{error}");
    let error = fixture.error(&["--service-account", "nobody"]);
    assert!(error.contains("cannot create a token") && error.contains("\"nobody\" not found"), "{error}");
    let error = fixture.error(&["--token-file", "nowhere"]);
    assert!(error.contains("cannot read nowhere"), "{error}");
    let foreign = rcgen::generate_simple_self_signed(vec!["x".to_owned()]).unwrap().cert.pem();
    let foreign = fixture.harness.write("foreign.crt", &foreign);
    let error = fixture.error(&["--service-account", "writer", "--controller-ca-file", &foreign]);
    assert!(
        error.starts_with("error: the TLS handshake with") && error.contains("invalid peer certificate"),
        "{error}"
    );

    let cluster = fixture.harness.ns.cluster();
    let nobody = TestServiceAccount::create(cluster, fixture.harness.ns.name(), "nobody", &[]).await.unwrap();
    let config = fixture.harness.path("nobody");
    nobody.write_kubeconfig(&config, &cluster.config().cluster_url.to_string()).unwrap();
    let error = fixture.error(&["--kubeconfig", &config.display().to_string()]);
    assert!(
        error.contains("cannot find the controller") && error.contains("Ask for the permission"),
        "{error}"
    );

    let rules = "kind: Role\nmetadata: {name: reads}\nrules:\n\
                 - {apiGroups: [''], resources: [services, pods, configmaps], verbs: [get, list]}\n";
    let grants = Grant::from_yaml(rules).unwrap();
    let reads =
        TestServiceAccount::create(cluster, fixture.harness.ns.name(), "reads", &grants).await.unwrap();
    let config = fixture.harness.path("reads");
    reads.write_kubeconfig(&config, &cluster.config().cluster_url.to_string()).unwrap();
    let error = fixture.error(&["--kubeconfig", &config.display().to_string()]);
    assert!(error.starts_with("error: cannot forward a port to Pod"), "{error}");
    assert!(error.contains("pods/portforward") && error.contains("Ask for the permission"), "{error}");

    let empty = Harness::new().await;
    let error = empty.kube(&["dashboard", "--controller-namespace", empty.ns.name()]).error();
    assert!(error.contains("there is no controller in namespace"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_that_is_switched_off_is_named() {
    let fixture = Fixture::start(&[("VMAFX_DASHBOARD", "false")]).await;
    let error = fixture.error(&["--service-account", "writer"]);
    assert!(error.contains("the controller serves no dashboard"), "{error}");
}
