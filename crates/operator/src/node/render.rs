//! What is made for a VmafxNode, one file per object. Pure: a node and the operator's settings go in, objects come out.
//!
//! Only what is meant is in them. What the API server fills in belongs to it, and must never look like a difference.

pub mod budget;
pub mod pod;
pub mod stateful_set;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use vmafx_api::VmafxNode;
use vmafx_api::node::GpuVendor;

use crate::render::{ControllerAccess, NODE, RenderError, RenderedWorkload, labels, service};
use crate::workload::{DesiredWorkload, ResourceOwner};

/// What the operator's settings say about workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDefaults {
    /// The image of workers that name none.
    pub image: Option<String>,
    /// How workers find the controller.
    pub controller: ControllerAccess,
    /// How long a worker may take to finish its jobs when it must leave, in seconds.
    pub drain_seconds: i64,
    /// The extended resource of each vendor's GPUs.
    pub gpus: GpuResources,
    /// Registries without TLS, separated by commas.
    pub plain_registries: String,
}

/// Under which names device plugins offer GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuResources {
    /// Of NVIDIA's plugin.
    pub nvidia: String,
    /// Of AMD's.
    pub amd: String,
    /// Of Intel's; those of the newer driver have another name.
    pub intel: String,
}

impl GpuResources {
    /// Under which name a vendor's GPUs are asked for.
    pub fn of(&self, vendor: GpuVendor) -> Option<&str> {
        match vendor {
            GpuVendor::Nvidia => Some(&self.nvidia),
            GpuVendor::Amd => Some(&self.amd),
            GpuVendor::Intel => Some(&self.intel),
            GpuVendor::Cpu => None,
        }
    }
}

/// The objects that a node asks for.
pub fn desired(node: &VmafxNode, defaults: &NodeDefaults) -> Result<DesiredWorkload, RenderError> {
    DesiredWorkload::of(&render(node, defaults)?, &ResourceOwner::of(node))
}

fn render(node: &VmafxNode, defaults: &NodeDefaults) -> Result<RenderedWorkload, RenderError> {
    Ok(RenderedWorkload {
        service: service::headless(metadata(node), selector(node), pod::HTTP_PORT),
        budget: Some(budget::render(node)),
        stateful_set: stateful_set::render(node, defaults)?,
    })
}

/// The name of everything that belongs to a node.
pub fn workload_name(node: &VmafxNode) -> String {
    NODE.workload(&node.name_any())
}

fn selector(node: &VmafxNode) -> BTreeMap<String, String> {
    labels::selector(&workload_name(node))
}

fn metadata(node: &VmafxNode) -> ObjectMeta {
    NODE.metadata(node, workload_name(node))
}

#[cfg(test)]
pub(crate) mod tests;
