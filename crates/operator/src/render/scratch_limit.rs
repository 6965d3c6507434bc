//! The limit of the scratch volume, passed on to the agent.
//!
//! The size limit of an emptyDir does not make the file system smaller: a write past the limit succeeds, and some seconds
//! later the kubelet evicts the whole Pod with all its jobs, those that need little space included. The job that needs
//! too much is then tried on the next worker, with the same result. So the agent gets the limit and refuses that one job.

use serde_json::{Value, json};

use crate::quantity::ParsedQuantity;
use crate::reserved::{AGENT_CONTAINER, SCRATCH_VOLUME};

/// Environment variables of the agent, each with its share of the volume in eighths and its default maximum. The rest of
/// the volume is for what jobs write.
const SHARES: [(&str, u64, u64); 2] =
    [("VMAFX_SCRATCH_BYTES", 6, 50 << 30), ("VMAFX_MODEL_CACHE_BYTES", 1, 1 << 30)];

/// Sets the limits of the agent from the size limit of its scratch volume, unless the template sets them itself.
pub fn limit_agent(template: &mut Value) {
    let Some(limit) = limit(template) else { return };
    let containers = template["spec"]["containers"].as_array_mut().into_iter().flatten();
    for agent in containers.filter(|container| container["name"] == AGENT_CONTAINER) {
        let Some(env) = agent.as_object_mut().map(|agent| agent.entry("env").or_insert(json!([]))) else {
            continue;
        };
        let Some(env) = env.as_array_mut() else { continue };
        for (name, eighths, maximum) in SHARES {
            if !env.iter().any(|variable| variable["name"] == name) {
                let bytes = (limit / 8).saturating_mul(eighths).min(maximum);
                env.push(json!({ "name": name, "value": bytes.to_string() }));
            }
        }
    }
}

/// Size limit of the scratch volume in bytes.
fn limit(template: &Value) -> Option<u64> {
    let volumes = template["spec"]["volumes"].as_array()?;
    let scratch = volumes.iter().find(|volume| volume["name"] == SCRATCH_VOLUME)?;
    // Zero means no limit.
    ParsedQuantity::parse(scratch["emptyDir"]["sizeLimit"].as_str()?)?.floor().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn limited(volume: &Value, env: &Value) -> Vec<(String, String)> {
        let mut template = json!({ "spec": {
            "volumes": [{ "name": "media", "emptyDir": { "sizeLimit": "1Ki" } }, volume],
            "containers": [{ "name": "sidecar", "env": [] }, { "name": "agent", "env": env }],
        }});
        limit_agent(&mut template);
        assert_eq!(template["spec"]["containers"][0]["env"], json!([]), "only the agent is limited");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let env = template["spec"]["containers"][1]["env"].as_array().unwrap();
        env.iter().map(|variable| (text(&variable["name"]), text(&variable["value"]))).collect()
    }

    #[rstest]
    #[case::small("8Mi", 6 << 20, 1 << 20)]
    #[case::with_a_fraction("1.5Gi", 1152 << 20, 192 << 20)]
    #[case::larger_than_the_maximum("1Ti", 50 << 30, 1 << 30)]
    fn the_limit_of_the_volume_is_shared_out(#[case] limit: &str, #[case] clips: u64, #[case] models: u64) {
        let volume = json!({ "name": "scratch", "emptyDir": { "sizeLimit": limit } });
        let expected = [("VMAFX_SCRATCH_BYTES", clips), ("VMAFX_MODEL_CACHE_BYTES", models)];
        let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.to_string()));
        assert_eq!(limited(&volume, &json!([])), expected);
    }

    #[rstest]
    #[case::no_limit(json!({ "name": "scratch", "emptyDir": {} }))]
    #[case::zero(json!({ "name": "scratch", "emptyDir": { "sizeLimit": "0" } }))]
    #[case::not_a_quantity(json!({ "name": "scratch", "emptyDir": { "sizeLimit": "much" } }))]
    #[case::a_persistent_volume(json!({ "name": "scratch", "persistentVolumeClaim": { "claimName": "a" } }))]
    #[case::another_volume(json!({ "name": "other", "emptyDir": { "sizeLimit": "8Mi" } }))]
    fn without_a_limit_nothing_is_set(#[case] volume: Value) {
        assert_eq!(limited(&volume, &json!([])), []);
    }

    #[test]
    fn a_limit_in_the_template_stays() {
        let volume = json!({ "name": "scratch", "emptyDir": { "sizeLimit": "8Mi" } });
        let env = json!([{ "name": "VMAFX_SCRATCH_BYTES", "value": "1Mi" }]);
        let env = limited(&volume, &env);
        assert_eq!(env.len(), 2);
        assert_eq!(env[0], ("VMAFX_SCRATCH_BYTES".to_owned(), "1Mi".to_owned()));
    }
}
