//! Nodes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vmafx_queue::node as queue;

use super::job::Origin;
use super::time::rfc3339;

/// Live nodes, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeList {
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// A live node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Name of the process.
    pub name: String,
    /// Vendor of its device.
    pub gpu_vendor: String,
    /// Its device.
    pub device: String,
    /// Backends it serves.
    pub backends: Vec<String>,
    /// Jobs it can run at once.
    pub slots: u32,
    /// Jobs it runs.
    pub jobs: u32,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The VmafxNode it belongs to.
    pub resource: Option<Origin>,
    /// When it came.
    pub registered_at: String,
    /// When it was last heard of.
    pub last_seen_at: String,
}

impl From<queue::Node> for Node {
    fn from(node: queue::Node) -> Self {
        Self {
            name: node.name,
            gpu_vendor: node.capability.vendor,
            device: node.capability.device,
            backends: node.capability.backends,
            slots: node.capability.slots,
            jobs: node.jobs,
            labels: node.capability.labels,
            resource: node.resource.map(Into::into),
            registered_at: rfc3339(node.registered_at),
            last_seen_at: rfc3339(node.last_seen_at),
        }
    }
}
