//! The way to the API server.
//!
//! A request passes these, in this order:
//!
//! | what       | why                                                                                            |
//! |------------|------------------------------------------------------------------------------------------------|
//! | [`metrics`] | counts it by verb, kind and outcome, however it ends                                          |
//! | [`deadline`] | an answer that does not come is an error, not a wait                                         |
//! | kube's own | address, token, headers                                                                        |
//! | [`gate`]   | a write leaves only while this operator leads; it stands behind everything that could wait     |
//!
//! Nothing is tried again here: pauses and repetitions belong to the queue, which knows the resource.

pub mod api_call;
pub mod deadline;
pub mod metrics;
pub(crate) mod requests;
pub mod write_gate;

use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{ClientBuilder, ConfigExt as _};
use tower::util::option_layer;

pub use metrics::ClientMetrics;
pub use write_gate::refused_by_gate;

use crate::lease::Permit;
use deadline::DeadlineLayer;
use write_gate::WriteGate;

/// How long the API server may take to answer. Its own limit for a request is a minute, which is longer than a lease.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// A connection that carries nothing for this long is asked whether it still lives: a watch on a dead one would
/// wait for its next event for ever.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A client whose writes are sent only while `permit` holds.
pub fn build(
    config: &kube::Config,
    permit: Permit,
    metrics: &ClientMetrics,
) -> Result<kube::Client, kube::Error> {
    build_within(DEADLINE, config, permit, metrics)
}

/// The same with another deadline.
pub fn build_within(
    deadline: Duration,
    config: &kube::Config,
    permit: Permit,
    metrics: &ClientMetrics,
) -> Result<kube::Client, kube::Error> {
    if let Some(proxy_url) = config.proxy_url.clone() {
        return Err(kube::Error::ProxyProtocolUnsupported { proxy_url: Box::new(proxy_url) });
    }
    // A second time it fails, and the first provider stays, which is the same.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_connect_timeout(config.connect_timeout);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let wire = legacy::Client::builder(TokioExecutor::new()).build(connector);
    let client = ClientBuilder::new(WriteGate::new(wire, permit), config.default_namespace.clone())
        .with_layer(&config.extra_headers_layer()?)
        .with_layer(&option_layer(config.auth_layer()?))
        .with_layer(&config.base_uri_layer())
        .with_layer(&DeadlineLayer(deadline))
        .with_layer(metrics)
        .build();
    Ok(client)
}
