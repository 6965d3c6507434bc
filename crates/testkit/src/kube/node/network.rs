//! The network of a cluster: one address for the node, a route to every Service, no external network.
//!
//! Pods are connected point to point (`ptp`), not by a bridge. Every packet then passes the node's routing, where
//! kube-proxy's rules apply; on a bridge, responses between Pods would bypass them unless a kernel module
//! (`br_netfilter`) is loaded, and Services would work on some machines only.

use std::fs;
use std::process::Command;

use super::error::{NodeError, ResultExt as _};

/// The node's address, which is also the Pods' gateway and name server.
pub(super) const NODE_ADDRESS: &str = "10.88.0.1";
pub(super) const POD_CIDR: &str = "10.88.0.0/16";
/// The address of the API server's Service, the first of the range.
pub(super) const KUBERNETES_SERVICE: &str = "10.96.0.1";

/// Every cluster uses the same addresses, because they are visible only inside.
pub(super) fn set_up() -> Result<(), NodeError> {
    ip("link set lo up")?;
    // A bridge without ports is available on every kernel and can have an address.
    ip("link add node0 type bridge")?;
    ip(&format!("addr add {NODE_ADDRESS}/32 dev node0"))?;
    ip("link set node0 up")?;
    // Service addresses are translated after routing, so they need a route.
    ip(&format!("route add default dev node0 src {NODE_ADDRESS}"))?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").step("enabling IP forwarding")
}

fn ip(args: &str) -> Result<(), NodeError> {
    let output = Command::new("ip").args(args.split(' ')).output().step("running ip")?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NodeError::Command { command: format!("ip {args}"), output: stderr })
}
