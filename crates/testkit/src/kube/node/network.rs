//! The network inside: one address for the node, a route to every Service, nothing to the world.
//!
//! Pods are connected point to point (`ptp`), not by a bridge. Every packet then passes the node's routing, where
//! kube-proxy's rules are; on a bridge, answers between Pods of one node would bypass them unless a kernel module
//! (`br_netfilter`) is loaded, and Services would work on some machines only.

use std::fs;
use std::process::Command;

use super::error::{NodeError, Step as _};

/// The node's address; also the Pods' gateway and name server.
pub(super) const NODE: &str = "10.88.0.1";
/// Where Pods get their addresses from.
pub(super) const PODS: &str = "10.88.0.0/16";
/// The first Service, that of the API server.
pub(super) const KUBERNETES_SERVICE: &str = "10.96.0.1";

/// Sets it up. The same addresses in every cluster: they are visible only inside.
pub(super) fn set_up() -> Result<(), NodeError> {
    ip("link set lo up")?;
    // A bridge without ports is a device that exists everywhere and can hold an address.
    ip("link add node0 type bridge")?;
    ip(&format!("addr add {NODE}/32 dev node0"))?;
    ip("link set node0 up")?;
    // Service addresses are translated on their way out, but only if there is a way out.
    ip(&format!("route add default dev node0 src {NODE}"))?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").step("turning on forwarding")
}

fn ip(args: &str) -> Result<(), NodeError> {
    let output = Command::new("ip").args(args.split(' ')).output().step("running ip")?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NodeError::Command { command: format!("ip {args}"), output: stderr })
}
