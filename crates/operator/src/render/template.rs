//! A template as it is sent: ours, the user's parts over it, and once more what must stay ours.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;
use vmafx_api::pod_template::PartialPodTemplate;

use super::merge::merge;

/// Merges. The answer is JSON: parts of it may be newer than the types here. An error names the field that makes it no
/// template, in terms of what the user wrote.
pub fn merged(
    rendered: &PodTemplateSpec,
    parts: Option<&PartialPodTemplate>,
    ours: &Value,
) -> Result<Value, String> {
    let mut template = serde_json::to_value(rendered).map_err(|error| error.to_string())?;
    if let Some(parts) = parts {
        merge(&mut template, &Value::Object(parts.0.clone()));
        serde_path_to_error::deserialize::<_, PodTemplateSpec>(&template)
            .map_err(|error| error.to_string())?;
    }
    merge(&mut template, ours);
    Ok(template)
}

/// How long the kubelet waits when a Pod must leave: what the parts say, if they say anything, because the program must
/// know it too.
pub fn grace_seconds(parts: Option<&PartialPodTemplate>, usual: i64) -> i64 {
    let asked =
        |parts: &PartialPodTemplate| parts.0.get("spec")?.get("terminationGracePeriodSeconds")?.as_i64();
    parts.and_then(asked).unwrap_or(usual)
}
