//! A Pod template as it is sent: the rendered one, the user's parts over it, and the operator's fields over both.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;
use vmafx_api::pod_template::PartialPodTemplate;

use super::merge::merge;

/// The result is JSON, because parts may be newer than the types here. An error names the field of the user's parts that
/// does not fit.
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

/// The termination grace period: that of the user's parts, if they set one, because the process must know it too.
pub fn grace_seconds(parts: Option<&PartialPodTemplate>, default: i64) -> i64 {
    let requested =
        |parts: &PartialPodTemplate| parts.0.get("spec")?.get("terminationGracePeriodSeconds")?.as_i64();
    parts.and_then(requested).unwrap_or(default)
}
