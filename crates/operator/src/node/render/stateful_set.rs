//! The StatefulSet of the workers.

use serde_json::Value;
use vmafx_api::VmafxNode;

use super::{NodeDefaults, RenderError, metadata, pod, selector, workload_name};
use crate::render::scratch_limit;
use crate::render::stateful_set::{parallel, with_template};

pub fn render(node: &VmafxNode, defaults: &NodeDefaults) -> Result<Value, RenderError> {
    let template = pod::render(node, defaults)?;
    let replicas = if node.spec.paused { 0 } else { node.spec.replicas };
    let mut set = parallel(metadata(node), selector(node), workload_name(node), replicas);
    if let Some(spec) = set.spec.as_mut() {
        // The API server leaves a zero out, which would then look like a difference.
        spec.min_ready_seconds = node.spec.min_ready_seconds.filter(|seconds| *seconds > 0);
    }
    let mut set = with_template(&set, &template, node.spec.pod_template.as_ref())?;
    scratch_limit::limit_agent(&mut set["spec"]["template"]);
    Ok(set)
}
