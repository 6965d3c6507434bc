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
    /// Present while the node is quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
}

/// A node that failed several attempts in a row gets no job but one on trial at the end of each pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quarantine {
    /// Attempts that failed in a row through the fault of the node.
    pub failures: u32,
    /// When the node gets its next job on trial, at the latest.
    pub until: String,
    /// Why the last of these attempts failed, as one word.
    pub reason: String,
    /// The message of the last of these attempts.
    pub message: String,
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
            resource: node.resource.map(|resource| resource.origin.into()),
            registered_at: rfc3339(node.registered_at),
            last_seen_at: rfc3339(node.last_seen_at),
            quarantine: node.quarantine.map(|quarantine| Quarantine {
                failures: quarantine.failures,
                until: rfc3339(quarantine.until),
                reason: quarantine.reason.name().to_owned(),
                message: quarantine.error,
            }),
        }
    }
}
