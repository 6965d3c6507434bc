//! A fake kubelet that only serves logs and forwards ports. The API server passes such requests on to it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::harness::Harness;
use crate::port_forward;

/// Path and query of each request.
type Requests = Arc<Mutex<Vec<String>>>;

pub(crate) struct Kubelet {
    pub(crate) node: String,
    requests: Requests,
    log: watch::Sender<String>,
    _serving: JoinSet<()>,
}

impl Kubelet {
    /// Registers a node. All Pods that are bound to it have this log.
    pub(crate) async fn start(harness: &Harness, log: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        vmafx_kit::tls::install_crypto_provider();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Requests::default();
        let log = watch::Sender::new(log.to_owned());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, acceptor, Arc::clone(&requests), log.subscribe()));

        let node = format!("node-{}", harness.ns.name());
        let nodes: Api<Node> = Api::all(harness.ns.client());
        let object = Node {
            metadata: ObjectMeta { name: Some(node.clone()), ..ObjectMeta::default() },
            ..Node::default()
        };
        nodes.create(&PostParams::default(), &object).await.unwrap();
        let status = json!({ "status": {
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": port } },
        } });
        nodes.patch_status(&node, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        Self { node, requests, log, _serving: serving }
    }

    /// Appends to the log, also for requests that follow it.
    pub(crate) fn append(&self, text: &str) {
        self.log.send_modify(|log| log.push_str(text));
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Creates a Pod on this node, in this phase.
    pub(crate) async fn create_pod(&self, harness: &Harness, name: &str, labels: &Value, phase: &str) {
        let pods: Api<Pod> = Api::namespaced(harness.ns.client(), harness.ns.name());
        let pod = json!({
            "metadata": { "name": name, "labels": labels },
            "spec": { "nodeName": self.node, "containers": [{ "name": "agent", "image": "x" }] },
        });
        pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        let status = json!({ "status": { "phase": phase } });
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    requests: Requests,
    log: watch::Receiver<String>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, requests, mut log) = (acceptor.clone(), Arc::clone(&requests), log.clone());
        connections.spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { return };
                head.push(byte);
            }
            let head = String::from_utf8(head).unwrap();
            let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
            requests.lock().unwrap().push(path.clone());
            if path.starts_with("/portForward/") {
                return port_forward::serve(stream, &head).await;
            }
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
                .await;
            let mut sent = 0;
            loop {
                let text = log.borrow_and_update().clone();
                if stream.write_all(&text.as_bytes()[sent..]).await.is_err() || stream.flush().await.is_err()
                {
                    return;
                }
                sent = text.len();
                let ends = !path.contains("follow=true") || text.ends_with("the end\n");
                if ends || log.changed().await.is_err() {
                    let _ = tokio::time::timeout(Duration::from_secs(5), stream.shutdown()).await;
                    return;
                }
            }
        });
    }
}
