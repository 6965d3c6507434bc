//! The real controller as a child process, with its database in a file.

use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::{ControllerChannel, ControllerServer};

vmafx_testkit::controller_in_test_program!();

/// Short enough for leases to expire within the test; enough lost attempts for every job.
const SETTINGS: [(&str, &str); 6] = [
    ("VMAFX_STORE_LEASE_TTL", "1s"),
    ("VMAFX_STORE_SESSION_TTL", "2s"),
    ("VMAFX_STORE_SWEEP_INTERVAL", "200ms"),
    ("VMAFX_STORE_BACKOFF_BASE", "50ms"),
    ("VMAFX_STORE_BACKOFF_MAX", "200ms"),
    ("VMAFX_STORE_MAX_LOST_ATTEMPTS", "101"),
];

pub(crate) type Client = VmafxControllerClient<ControllerChannel>;

pub(crate) async fn start(roots: &[String]) -> ControllerServer {
    let config = controller_config().env("VMAFX_SCORING_ROOTS", roots.join(",")).envs(&SETTINGS);
    config.start().await.unwrap()
}
