//! A proxy between a client and the API server: it writes down what is asked, and does to it what a test wants.
//!
//! Clients speak plain HTTP to it, on loopback. It passes everything on over TLS under the caller's own token, or with the
//! cluster's certificate when the caller has none. Watches are passed on event by event. `exec` and the like, which
//! change the protocol, are not.
//!
//! A client with a token must not take a proxy for the API server elsewhere: the token is readable on the wire.
//!
//! ```no_run
//! # async fn test(cluster: &vmafx_testkit::kube::Cluster) -> Result<(), Box<dyn std::error::Error>> {
//! use vmafx_testkit::kube::proxy::{Act, ApiProxy, Which};
//!
//! let proxy = ApiProxy::start(cluster).await?;
//! let client = proxy.client()?;
//! let fault = proxy.inject(Which::writes().of("statefulsets").nth(2), Act::Lose(500));
//! // … what the client does …
//! assert_eq!(fault.hits().len(), 1);
//! # Ok(())
//! # }
//! ```

mod fault;
mod forward;
mod ledger;
mod request;
mod taps;
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

use super::cluster::Cluster;
use crate::wait::{self, TimedOut};
pub use fault::{Act, Injected, Pass, Which};
pub use ledger::{Record, count_by_resource};
pub use request::{ApiRequest, Verb};

/// Why there is no proxy.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// No port.
    #[error("the proxy cannot listen")]
    Listen(#[source] io::Error),
    /// The cluster's configuration makes no client.
    #[error("the proxy cannot reach the API server")]
    Upstream(#[source] kube::Error),
    /// The proxy's address makes no client.
    #[error("no client could be made for the proxy")]
    Client(#[source] kube::Error),
}

/// A proxy in the runtime it was made in. Dropping it ends all its connections.
#[derive(Debug)]
pub struct ApiProxy {
    address: SocketAddr,
    config: Config,
    shared: Arc<Shared>,
    #[expect(dead_code, reason = "ends the task when dropped, and with it every connection")]
    accepting: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: upstream::Upstream,
    ledger: ledger::Ledger,
    rules: fault::Rules,
    taps: taps::Taps,
}

impl ApiProxy {
    /// Starts one for a cluster, on a free port.
    pub async fn start(cluster: &Cluster) -> Result<Self, ProxyError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(ProxyError::Listen)?;
        let address = listener.local_addr().map_err(ProxyError::Listen)?;
        let shared = Arc::new(Shared {
            upstream: upstream::Upstream::new(cluster.config()).map_err(ProxyError::Upstream)?,
            ledger: ledger::Ledger::default(),
            rules: fault::Rules::default(),
            taps: taps::Taps::default(),
        });
        let url = http::Uri::try_from(format!("http://{address}")).map_err(io::Error::other);
        let mut config = cluster.config().clone();
        config.cluster_url = url.map_err(ProxyError::Listen)?;
        config.auth_info = AuthInfo::default();
        // A client that asks again by itself would hide what was done to it.
        config.default_retry = false;
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, config, shared, accepting })
    }

    /// The address, for kubeconfigs.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a client without a token of its own is made from: the proxy lends it the cluster's certificate.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Such a client.
    pub fn client(&self) -> Result<Client, ProxyError> {
        Client::try_from(self.config.clone()).map_err(ProxyError::Client)
    }

    /// From now on does this to those requests, until what is returned is dropped.
    pub fn inject(&self, which: Which, act: Act) -> Injected {
        self.shared.rules.add(which, act)
    }

    /// Everything that was asked so far, in the order of arrival.
    pub fn records(&self) -> Vec<Record> {
        self.shared.ledger.all()
    }

    /// What was asked after the first `mark` requests.
    pub fn records_since(&self, mark: usize) -> Vec<Record> {
        self.records().split_off(mark.min(self.mark()))
    }

    /// How many requests have arrived; to look at later ones only.
    pub fn mark(&self) -> usize {
        self.shared.ledger.len()
    }

    /// The writes so far, whatever became of them.
    pub fn writes(&self) -> Vec<Record> {
        self.writes_since(0)
    }

    /// The writes after the first `mark` requests.
    pub fn writes_since(&self, mark: usize) -> Vec<Record> {
        let mut records = self.records_since(mark);
        records.retain(|record| record.request.is_write());
        records
    }

    /// Waits for a request that fits, after the first `mark`.
    pub async fn seen(
        &self,
        deadline: Duration,
        what: &str,
        mark: usize,
        fits: impl Fn(&Record) -> bool,
    ) -> Result<Record, TimedOut> {
        wait::until(deadline, what, async || self.records_since(mark).into_iter().find(|record| fits(record)))
            .await
    }

    /// Ends every watch that is open.
    pub fn cut_watches(&self) {
        self.shared.taps.cut_watches();
    }

    /// Ends every connection that is open.
    pub fn cut_connections(&self) {
        self.shared.taps.cut_connections();
    }

    /// Ends every connection, also those to come, until what is returned is dropped.
    pub fn refuse(&self) -> Refusing {
        let refusing = Refusing(Arc::clone(&self.shared));
        self.shared.taps.refuse(true);
        self.cut_connections();
        refusing
    }

    /// Keeps back the events of all watches of this resource, until what is returned is dropped.
    pub fn hold_events(&self, resource: &str) -> HeldEvents {
        self.shared.taps.hold(resource, true);
        HeldEvents(Arc::clone(&self.shared), resource.to_owned())
    }
}

/// Nobody gets through while this is there.
#[derive(Debug)]
#[must_use = "when this is dropped, connections are accepted again"]
pub struct Refusing(Arc<Shared>);

impl Drop for Refusing {
    fn drop(&mut self) {
        self.0.taps.refuse(false);
    }
}

/// Events wait while this is there.
#[derive(Debug)]
#[must_use = "when this is dropped, events are passed on"]
pub struct HeldEvents(Arc<Shared>, String);

impl Drop for HeldEvents {
    fn drop(&mut self) {
        self.0.taps.hold(&self.1, false);
    }
}

/// Owns every connection, so that all end with it.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) if !shared.taps.is_refusing() => {
                    connections.spawn(serve(socket, Arc::clone(&shared)));
                }
                Ok((refused, _)) => drop(refused),
                Err(error) => tracing::warn!(%error, "a connection to the proxy was lost"),
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, shared: Arc<Shared>) {
    let _ = socket.set_nodelay(true);
    let cut = shared.taps.connections_cut();
    let service = service_fn(|request| forward::answer(&shared, request));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        () = cut => {}
        served = connection => if let Err(error) = served {
            tracing::debug!(%error, "a connection to the proxy ended");
        },
    }
}
