//! The StatefulSet of a workload.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::{Value, json};
use vmafx_api::pod_template::PartialPodTemplate;

use crate::render::template;

/// The partial template of the spec does not make a Pod template.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("spec.podTemplate: {0}")]
pub struct InvalidTemplate(pub String);

/// A StatefulSet without its template.
///
/// The Pods do not depend on each other: they start and stop together (`Parallel`), and a new template replaces one after
/// the other, each when the one before is ready. Together these also get past a template that never became ready, for
/// which the policy `OrderedReady` would wait forever.
pub fn parallel(
    metadata: ObjectMeta,
    selector: BTreeMap<String, String>,
    service: String,
    replicas: i32,
) -> StatefulSet {
    StatefulSet {
        spec: Some(StatefulSetSpec {
            replicas: Some(replicas),
            selector: LabelSelector { match_labels: Some(selector), ..LabelSelector::default() },
            service_name: Some(service),
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
    }
}

/// Adds the rendered template with the user's parts merged over it. Selector labels, restart policy and the missing
/// token for the API server stay the operator's, whatever those parts say. The result is JSON, because parts may be
/// newer than the types here.
pub fn with_template(
    set: &StatefulSet,
    rendered: &PodTemplateSpec,
    parts: Option<&PartialPodTemplate>,
) -> Result<Value, InvalidTemplate> {
    let selector = set.spec.as_ref().map(|spec| &spec.selector.match_labels);
    let ours = json!({
        "metadata": { "labels": selector },
        "spec": { "restartPolicy": "Always", "automountServiceAccountToken": false },
    });
    let template = template::merged(rendered, parts, &ours).map_err(InvalidTemplate)?;
    let mut set = serde_json::to_value(set).map_err(|error| InvalidTemplate(error.to_string()))?;
    set["spec"]["template"] = template;
    Ok(set)
}
