//! A template as it is sent: ours, the user's parts over it, once more what must stay ours, and what follows from it all.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;
use vmafx_api::pod_template::PartialPodTemplate;

use super::merge::merge;
use super::room;

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
    room::tell(&mut template);
    Ok(template)
}
