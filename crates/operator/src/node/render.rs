//! Renders the desired objects of a VmafxNode from the node and the operator's settings, one file per object. Pure.
//!
//! They contain no default of the API server, which must never look like a difference.

pub mod budget;
pub mod pod;
pub mod stateful_set;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use vmafx_api::VmafxNode;
use vmafx_api::node::GpuVendor;

use crate::render::pod::WorkerGuard;
use crate::render::{ControllerAccess, NODE, RenderError, RenderedWorkload, labels, service};
use crate::template_policy::{PodRole, TemplatePolicy};
use crate::workload::{DesiredAccount, DesiredWorkload, ResourceOwner};

/// Settings for all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDefaults {
    /// Image of workers without `spec.image`.
    pub image: Option<String>,
    pub controller: ControllerAccess,
    /// Time for a worker to finish its jobs when its Pod is stopped.
    pub drain_seconds: i64,
    pub gpus: GpuResources,
    /// Registries without TLS, separated by commas.
    pub plain_registries: String,
    pub guard: WorkerGuard,
    pub templates: TemplatePolicy,
}

/// Extended resource names of GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuResources {
    pub nvidia: String,
    pub amd: String,
    /// Differs between the drivers i915 and xe.
    pub intel: String,
}

impl GpuResources {
    pub fn of(&self, vendor: GpuVendor) -> Option<&str> {
        match vendor {
            GpuVendor::Nvidia => Some(&self.nvidia),
            GpuVendor::Amd => Some(&self.amd),
            GpuVendor::Intel => Some(&self.intel),
            GpuVendor::Cpu => None,
        }
    }
}

pub fn desired(node: &VmafxNode, defaults: &NodeDefaults) -> Result<DesiredWorkload, RenderError> {
    DesiredWorkload::of(&render(node, defaults)?, &ResourceOwner::of(node))
}

fn render(node: &VmafxNode, defaults: &NodeDefaults) -> Result<RenderedWorkload, RenderError> {
    let (policy, namespace) = (&defaults.templates, node.namespace().unwrap_or_default());
    policy.check(&namespace, PodRole::Worker, node.spec.pod_template.as_ref(), None)?;
    Ok(RenderedWorkload {
        account: DesiredAccount::new(&namespace, policy.account(PodRole::Worker), PodRole::Worker),
        service: service::headless(metadata(node), selector(node), pod::HTTP_PORT),
        budget: Some(budget::render(node)),
        stateful_set: stateful_set::render(node, defaults)?,
    })
}

/// The name of all objects of a node.
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
