//! The client for the API server.
//!
//! A request passes these layers, in this order:
//!
//! | layer          | purpose                                                                                       |
//! |----------------|-----------------------------------------------------------------------------------------------|
//! | [`metrics`]    | counts the request by verb, resource and status code, also if it is cancelled                 |
//! | [`deadline`]   | a missing answer is an error                                                                  |
//! | kube's own     | address, token, headers                                                                       |
//! | [`write_gate`] | a write is sent only while this operator leads; the last layer, behind everything that waits  |
//!
//! Nothing is retried here: retries belong to the work queue, which knows the resource.

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

/// Deadline of a request. The API server's own limit is a minute, which is longer than a lease.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// TCP keepalive: without it a watch on a dead connection would wait forever for its next event.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A client whose writes are sent only while `permit` holds.
pub fn build(
    config: &kube::Config,
    permit: Permit,
    metrics: &ClientMetrics,
) -> Result<kube::Client, kube::Error> {
    build_within(DEADLINE, config, permit, metrics)
}

/// The same client with another deadline.
pub fn build_within(
    deadline: Duration,
    config: &kube::Config,
    permit: Permit,
    metrics: &ClientMetrics,
) -> Result<kube::Client, kube::Error> {
    if let Some(proxy_url) = config.proxy_url.clone() {
        return Err(kube::Error::ProxyProtocolUnsupported { proxy_url: Box::new(proxy_url) });
    }
    // An error means that the same provider is installed already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_connect_timeout(config.connect_timeout);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let connection = legacy::Client::builder(TokioExecutor::new()).build(connector);
    let client = ClientBuilder::new(WriteGate::new(connection, permit), config.default_namespace.clone())
        .with_layer(&config.extra_headers_layer()?)
        .with_layer(&option_layer(config.auth_layer()?))
        .with_layer(&config.base_uri_layer())
        .with_layer(&DeadlineLayer(deadline))
        .with_layer(metrics)
        .build();
    Ok(client)
}
