//! The StatefulSet of the workers.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::{Value, json};
use vmafx_api::VmafxNode;

use super::merge::merge;
use super::{Defaults, RenderError, metadata, pod, selector, workload_name};
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
    let wrong = |error: serde_json::Error| RenderError::Template(error.to_string());
    let mut template = serde_json::to_value(pod::render(node, defaults)?).map_err(wrong)?;
    if let Some(parts) = &node.spec.pod_template {
        merge(&mut template, &Value::Object(parts.0.clone()));
    }
    let ours = json!({
        "metadata": { "labels": selector(node) },
        "spec": { "restartPolicy": "Always" },
    });
    merge(&mut template, &ours);
    // Whether it is a template at all is better said here, in terms of the field that the user wrote.
    serde_path_to_error::deserialize::<_, PodTemplateSpec>(&template)
        .map_err(|error| RenderError::Template(error.to_string()))?;
    Ok(template)
}
