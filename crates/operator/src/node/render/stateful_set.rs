//! The StatefulSet of the workers.

use k8s_openapi::api::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Value, json};
use vmafx_api::VmafxNode;

use super::{Defaults, RenderError, labels, metadata, pod};
use crate::pod::template;

/// Makes it.
///
/// Workers do not depend on each other: they start and stop together (`Parallel`), and a new template replaces one after
/// the other, each when the one before is ready. Together these also get past a template that never became ready, which
/// the ordered policy waits for for ever.
pub fn render(node: &VmafxNode, defaults: &Defaults) -> Result<Value, RenderError> {
    let template = self::template(node, defaults)?;
    let metadata = metadata(node);
    let set = StatefulSet {
        spec: Some(StatefulSetSpec {
            replicas: Some(if node.spec.paused { 0 } else { node.spec.replicas }),
            selector: LabelSelector {
                match_labels: Some(labels::selector(node)),
                ..LabelSelector::default()
            },
            service_name: metadata.name.clone(),
            pod_management_policy: Some("Parallel".to_owned()),
            revision_history_limit: Some(10),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateStatefulSetStrategy {
                    partition: Some(0),
                    ..RollingUpdateStatefulSetStrategy::default()
                }),
            }),
            ..StatefulSetSpec::default()
        }),
        metadata,
        status: None,
    };
    let mut set = serde_json::to_value(set).map_err(|error| RenderError::Template(error.to_string()))?;
    set["spec"]["template"] = template;
    Ok(set)
}

/// The template that we make with the user's parts merged over it; what selects the Pods and keeps them running is ours
/// whatever those say.
fn template(node: &VmafxNode, defaults: &Defaults) -> Result<Value, RenderError> {
    let ours = json!({
        "metadata": { "labels": labels::selector(node) },
        "spec": { "restartPolicy": "Always" },
    });
    template::merged(&pod::render(node, defaults)?, node.spec.pod_template.as_ref(), &ours)
        .map_err(RenderError::Template)
}
