//! The StatefulSet of the workers.

use serde_json::{Value, json};
use vmafx_api::VmafxNode;

use super::{Defaults, RenderError, metadata, pod, selector, workload_name};
use crate::pod::template;
use crate::render::stateful_set::parallel;

/// Makes it.
pub fn render(node: &VmafxNode, defaults: &Defaults) -> Result<Value, RenderError> {
    let template = template(node, defaults)?;
    let replicas = if node.spec.paused { 0 } else { node.spec.replicas };
    let set = parallel(metadata(node), selector(node), workload_name(node), replicas);
    let mut set = serde_json::to_value(set).map_err(|error| RenderError::Template(error.to_string()))?;
    set["spec"]["template"] = template;
    Ok(set)
}

/// The template that we make with the user's parts merged over it; what selects the Pods and keeps them running is ours
/// whatever those say.
fn template(node: &VmafxNode, defaults: &Defaults) -> Result<Value, RenderError> {
    let ours = json!({
        "metadata": { "labels": selector(node) },
        "spec": { "restartPolicy": "Always" },
    });
    template::merged(&pod::render(node, defaults)?, node.spec.pod_template.as_ref(), &ours)
        .map_err(RenderError::Template)
}
