//! A controller for measurements.

use std::path::Path;

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_testkit::controller::{ControllerConfig, ControllerServer};

use crate::workspace;

/// Token of a caller with the roles writer and node.
pub(super) const TOKEN: &str = "bench-0123456789abcdef";
const TOKENS: &str =
    "tokens: [{token: bench-0123456789abcdef, tenant: bench, roles: ['vmafx:writer', 'vmafx:node']}]\n";

/// Starts the released controller with its files below `directory`, and waits until it is ready.
pub(super) fn start(runtime: &Runtime, directory: &Path) -> Result<ControllerServer> {
    Ok(runtime.block_on(config(directory).start())?)
}

pub(super) fn config(directory: &Path) -> ControllerConfig {
    ControllerConfig::new(workspace::release("vmafx-controller")).tokens(TOKENS).below(directory)
}
