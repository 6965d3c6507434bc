//! Drops packets in the network of the node.

use anyhow::{Context as _, Result, ensure};

use crate::platform::Platform;

const TABLE: &str = "inet vmafx_faults";

/// Drops the packets between a Pod and a port of other Pods.
pub(super) fn block_forwarded(platform: &Platform, pod: &str, port: u16) -> Result<()> {
    // The hook sees packets after Service addresses were translated, in both directions.
    nft(
        platform,
        &format!(
            "add table {TABLE}; add chain {TABLE} forward {{ type filter hook forward priority -200; }}; \
             add rule {TABLE} forward ip saddr {pod} tcp dport {port} drop; \
             add rule {TABLE} forward ip daddr {pod} tcp sport {port} drop"
        ),
    )
}

/// Drops the packets between a Pod and a port of the node itself, where services outside the cluster are reached.
pub(super) fn block_external(platform: &Platform, pod: &str, port: u16) -> Result<()> {
    nft(
        platform,
        &format!(
            "add table {TABLE}; add chain {TABLE} input {{ type filter hook input priority -200; }}; \
             add rule {TABLE} input ip saddr {pod} tcp dport {port} drop; \
             add chain {TABLE} output {{ type filter hook output priority -200; }}; \
             add rule {TABLE} output ip daddr {pod} tcp sport {port} drop"
        ),
    )
}

pub(super) fn unblock(platform: &Platform) -> Result<()> {
    nft(platform, &format!("delete table {TABLE}"))
}

fn nft(platform: &Platform, rules: &str) -> Result<()> {
    let output = platform.cluster().run("nft", &[rules]).context("cannot run nft")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "nft {rules}: {}", message.trim());
    Ok(())
}
