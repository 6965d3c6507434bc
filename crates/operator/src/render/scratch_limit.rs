//! How much the scoring container may keep on its scratch volume.
//!
//! A volume with a limit is no smaller file system: whoever writes past the limit hears nothing, and some seconds later
//! the kubelet ends the whole Pod with all its jobs, the ones that need little included. The job that needs too much is
//! then tried on the next worker, which goes the same way. So the agent is told of the limit and refuses that one job.

use serde_json::{Value, json};

use crate::quantity::ParsedQuantity;
use crate::reserved::{AGENT_CONTAINER, SCRATCH_VOLUME};

/// Variables of the agent, each with the eighths of the volume that it may fill, and what it fills at most by itself. The
/// rest is for what jobs write.
const SHARES: [(&str, u64, u64); 2] =
    [("VMAFX_SCRATCH_BYTES", 6, 50 << 30), ("VMAFX_MODEL_CACHE_BYTES", 1, 1 << 30)];

/// Tells the agent of the limit of its scratch volume, unless the template says itself how much it may keep.
pub fn limit_agent(template: &mut Value) {
    let Some(limit) = limit(template) else { return };
    let containers = template["spec"]["containers"].as_array_mut().into_iter().flatten();
    for agent in containers.filter(|container| container["name"] == AGENT_CONTAINER) {
        let Some(env) = agent.as_object_mut().map(|agent| agent.entry("env").or_insert(json!([]))) else {
            continue;
        };
        let Some(env) = env.as_array_mut() else { continue };
        for (name, eighths, usual) in SHARES {
            if !env.iter().any(|variable| variable["name"] == name) {
                let bytes = (limit / 8).saturating_mul(eighths).min(usual);
                env.push(json!({ "name": name, "value": bytes.to_string() }));
            }
        }
    }
}

/// Of the scratch volume, in bytes, if it has one.
fn limit(template: &Value) -> Option<u64> {
    let volumes = template["spec"]["volumes"].as_array()?;
    let scratch = volumes.iter().find(|volume| volume["name"] == SCRATCH_VOLUME)?;
    // Nothing is Kubernetes' word for no limit.
    ParsedQuantity::parse(scratch["emptyDir"]["sizeLimit"].as_str()?)?.whole().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn told(volume: &Value, env: &Value) -> Vec<(String, String)> {
        let mut template = json!({ "spec": {
            "volumes": [{ "name": "media", "emptyDir": { "sizeLimit": "1Ki" } }, volume],
            "containers": [{ "name": "sidecar", "env": [] }, { "name": "agent", "env": env }],
        }});
        limit_agent(&mut template);
        assert_eq!(template["spec"]["containers"][0]["env"], json!([]), "it is the agent's own business");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let env = template["spec"]["containers"][1]["env"].as_array().unwrap();
        env.iter().map(|variable| (text(&variable["name"]), text(&variable["value"]))).collect()
    }

    #[rstest]
    #[case::small("8Mi", 6 << 20, 1 << 20)]
    #[case::with_a_fraction("1.5Gi", 1152 << 20, 192 << 20)]
    #[case::so_large_that_the_usual_is_enough("1Ti", 50 << 30, 1 << 30)]
    fn the_limit_of_the_volume_is_shared_out(#[case] limit: &str, #[case] clips: u64, #[case] models: u64) {
        let volume = json!({ "name": "scratch", "emptyDir": { "sizeLimit": limit } });
        let expected = [("VMAFX_SCRATCH_BYTES", clips), ("VMAFX_MODEL_CACHE_BYTES", models)];
        let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.to_string()));
        assert_eq!(told(&volume, &json!([])), expected);
    }

    #[rstest]
    #[case::no_limit(json!({ "name": "scratch", "emptyDir": {} }))]
    #[case::none_in_words(json!({ "name": "scratch", "emptyDir": { "sizeLimit": "0" } }))]
    #[case::no_amount(json!({ "name": "scratch", "emptyDir": { "sizeLimit": "much" } }))]
    #[case::a_disk_of_its_own(json!({ "name": "scratch", "persistentVolumeClaim": { "claimName": "a" } }))]
    #[case::another_volume(json!({ "name": "other", "emptyDir": { "sizeLimit": "8Mi" } }))]
    fn without_a_limit_nothing_is_said(#[case] volume: Value) {
        assert_eq!(told(&volume, &json!([])), []);
    }

    #[test]
    fn whoever_says_it_themselves_is_heard() {
        let volume = json!({ "name": "scratch", "emptyDir": { "sizeLimit": "8Mi" } });
        let env = json!([{ "name": "VMAFX_SCRATCH_BYTES", "value": "1Mi" }]);
        let told = told(&volume, &env);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0], ("VMAFX_SCRATCH_BYTES".to_owned(), "1Mi".to_owned()));
    }
}
