//! Connected nodes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vmafx_queue::node as queue;

use super::job::Origin;
use super::time::rfc3339;

/// The connected nodes, ordered by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeList {
    /// The nodes, ordered by name.
    pub nodes: Vec<Node>,
}

/// A connected node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Name of the node process.
    pub name: String,
    /// Vendor of the compute device.
    pub gpu_vendor: String,
    /// Name of the compute device.
    pub device: String,
    /// Backends that the node serves.
    pub backends: Vec<String>,
    /// Jobs that the node can run at once.
    pub slots: u32,
    /// Jobs that the node is running.
    pub jobs: u32,
    /// Labels of the node.
    pub labels: BTreeMap<String, String>,
    /// The VmafxNode that the process belongs to.
    pub resource: Option<Origin>,
    /// When the node registered.
    pub registered_at: String,
    /// When the node last called the controller.
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
