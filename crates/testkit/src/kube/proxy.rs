//! A fault proxy between a client and the API server, which also records all requests.
//!
//! Clients use plain HTTP on loopback. The proxy forwards requests over TLS with the caller's own token, or with the
//! cluster's certificate when the caller has none. Watches are forwarded event by event. `exec` and other protocol
//! upgrades are not supported. Tokens are readable on the way to the proxy, so clients must be on the same machine.
//!
//! ```no_run
//! # async fn test(cluster: &vmafx_testkit::kube::TestCluster) -> Result<(), Box<dyn std::error::Error>> {
//! use vmafx_testkit::kube::proxy::{ApiProxy, Fault, RequestMatcher};
//!
//! let proxy = ApiProxy::start(cluster).await?;
//! let client = proxy.client()?;
//! let fault = proxy.inject(RequestMatcher::writes().of("statefulsets").nth(2), Fault::FailAfter(500));
//! // … requests of the client …
//! assert_eq!(fault.hits().len(), 1);
//! # Ok(())
//! # }
//! ```

mod controls;
mod fault;
mod forward;
mod request;
mod request_log;
mod upstream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::config::AuthInfo;
use kube::{Client, Config};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::cluster::TestCluster;
use crate::wait::{self, TimedOut};
pub use fault::{Fault, InjectedFault, RequestMatcher, ResponseHandling};
pub use request::{ApiRequest, RbacVerb};
pub use request_log::{RecordedRequest, count_by_resource};

#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("the proxy cannot listen")]
    Listen(#[source] io::Error),
    #[error("the proxy cannot reach the API server")]
    Upstream(#[source] kube::Error),
    #[error("cannot create a client for the proxy")]
    Client(#[source] kube::Error),
}

/// A proxy, bound to the runtime in which it was started. Dropping it closes all its connections.
#[derive(Debug)]
pub struct ApiProxy {
    address: SocketAddr,
    config: Config,
    shared: Arc<ProxyState>,
    #[expect(dead_code, reason = "aborts the task when dropped, and with it every connection")]
    accepting: JoinSet<()>,
}

#[derive(Debug)]
struct ProxyState {
    upstream: upstream::Upstream,
    log: request_log::RequestLog,
    faults: fault::FaultRules,
    controls: controls::ProxyControls,
}

impl ApiProxy {
    /// Starts a proxy on a free port.
    pub async fn start(cluster: &TestCluster) -> Result<Self, ProxyError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(ProxyError::Listen)?;
        let address = listener.local_addr().map_err(ProxyError::Listen)?;
        let shared = Arc::new(ProxyState {
            upstream: upstream::Upstream::new(cluster.config()).map_err(ProxyError::Upstream)?,
            log: request_log::RequestLog::default(),
            faults: fault::FaultRules::default(),
            controls: controls::ProxyControls::default(),
        });
        let url = http::Uri::try_from(format!("http://{address}")).map_err(io::Error::other);
        let mut config = cluster.config().clone();
        config.cluster_url = url.map_err(ProxyError::Listen)?;
        config.auth_info = AuthInfo::default();
        // A client that retries by itself would hide the fault.
        config.default_retry = false;
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, config, shared, accepting })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The configuration of a client without a token; the proxy uses the cluster's certificate for it.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A client with the cluster's certificate.
    pub fn client(&self) -> Result<Client, ProxyError> {
        Client::try_from(self.config.clone()).map_err(ProxyError::Client)
    }

    /// Injects a fault into the matching requests until the returned value is dropped.
    pub fn inject(&self, requests: RequestMatcher, fault: Fault) -> InjectedFault {
        self.shared.faults.add(requests, fault)
    }

    /// All requests so far, in the order of arrival.
    pub fn records(&self) -> Vec<RecordedRequest> {
        self.shared.log.all()
    }

    /// The requests after the first `count` ones.
    pub fn records_since(&self, count: usize) -> Vec<RecordedRequest> {
        self.records().split_off(count.min(self.request_count()))
    }

    /// The number of requests so far; pass it to the methods that look at later ones only.
    pub fn request_count(&self) -> usize {
        self.shared.log.len()
    }

    /// All writes so far, successful or not.
    pub fn writes(&self) -> Vec<RecordedRequest> {
        self.writes_since(0)
    }

    /// The writes after the first `count` requests.
    pub fn writes_since(&self, count: usize) -> Vec<RecordedRequest> {
        let mut records = self.records_since(count);
        records.retain(|record| record.request.is_write());
        records
    }

    /// Waits for a matching request after the first `count` ones.
    pub async fn wait_for(
        &self,
        deadline: Duration,
        what: &str,
        count: usize,
        matches: impl Fn(&RecordedRequest) -> bool,
    ) -> Result<RecordedRequest, TimedOut> {
        wait::until(deadline, what, async || {
            self.records_since(count).into_iter().find(|record| matches(record))
        })
        .await
    }

    /// Closes every open watch.
    pub fn close_watches(&self) {
        self.shared.controls.close_watches();
    }

    /// Closes every open connection.
    pub fn close_connections(&self) {
        self.shared.controls.close_connections();
    }

    /// Closes every connection, also new ones, until the returned value is dropped.
    pub fn refuse_connections(&self) -> RefusedConnections {
        let refused = RefusedConnections(Arc::clone(&self.shared));
        self.shared.controls.refuse(true);
        self.close_connections();
        refused
    }

    /// Holds back the events of all watches of this resource until the returned value is dropped.
    pub fn hold_events(&self, resource: &str) -> HeldEvents {
        self.shared.controls.hold(resource, true);
        HeldEvents(Arc::clone(&self.shared), resource.to_owned())
    }
}

#[derive(Debug)]
#[must_use = "when this is dropped, connections are accepted again"]
pub struct RefusedConnections(Arc<ProxyState>);

impl Drop for RefusedConnections {
    fn drop(&mut self) {
        self.0.controls.refuse(false);
    }
}

#[derive(Debug)]
#[must_use = "when this is dropped, events are forwarded"]
pub struct HeldEvents(Arc<ProxyState>, String);

impl Drop for HeldEvents {
    fn drop(&mut self) {
        self.0.controls.hold(&self.1, false);
    }
}

/// Owns every connection, so that all close when it is aborted.
async fn accept(listener: TcpListener, shared: Arc<ProxyState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) if !shared.controls.is_refusing() => {
                    connections.spawn(serve(socket, Arc::clone(&shared)));
                }
                Ok((refused, _)) => drop(refused),
                Err(error) => tracing::warn!(%error, "the proxy cannot accept a connection"),
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, shared: Arc<ProxyState>) {
    let _ = socket.set_nodelay(true);
    let closed = shared.controls.connections_closed();
    let service = service_fn(|request| forward::respond(&shared, request));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        () = closed => {}
        served = connection => if let Err(error) = served {
            tracing::debug!(%error, "a connection to the proxy ended");
        },
    }
}
