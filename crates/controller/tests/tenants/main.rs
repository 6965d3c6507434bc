//! VmafxTenant resources on a real API server, read by the real controller with the permissions of the chart.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

#[path = "../support/clock.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod clock;
mod fixture;
#[path = "../outside/http.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod http;
#[path = "../auth/issuer.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod issuer;
#[path = "../support/node.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod node;

mod away;
mod namespaces;
mod nodes;
mod resources;
mod shared;
mod streams;

/// The module in which `node.rs` expects its client.
mod server {
    use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
    use vmafx_testkit::controller::ControllerChannel;

    pub(crate) type Client = VmafxControllerClient<ControllerChannel>;
}
