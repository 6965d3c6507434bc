//! Rules for tolerations.

use k8s_openapi::api::core::v1::Toleration;

use super::labels::{self, KEY, VALUE};
use super::violation::{FieldPath, Findings};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn check(path: &FieldPath, tolerations: &[Toleration], findings: &mut Findings) {
    for (index, toleration) in tolerations.iter().enumerate() {
        check_one(&path.item(index), toleration, findings);
    }
}

fn check_one(path: &FieldPath, toleration: &Toleration, findings: &mut Findings) {
    let key = toleration.key.as_deref().unwrap_or_default();
    let value = toleration.value.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    if !key.is_empty() && !labels::is_key(key) {
        findings.invalid(&path.field("key"), key, KEY);
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "Exists" if !value.is_empty() => {
            findings.invalid(&path.field("value"), value, "Exists takes no value: remove it or use Equal");
        }
        "" | "Equal" if key.is_empty() => {
            findings.invalid(
                &path.field("operator"),
                "Equal",
                "without a key use Exists, which tolerates every taint",
            );
        }
        "" | "Equal" if !labels::is_value(value) => findings.invalid(&path.field("value"), value, VALUE),
        // The API server validates other operators; it may support some that this release does not know.
        _ => {}
    }
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        findings.unsupported(&path.field("effect"), effect, &EFFECTS);
    }
    if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
        findings.invalid(
            &path.field("effect"),
            effect,
            "tolerationSeconds applies only to NoExecute: set the effect or remove tolerationSeconds",
        );
    }
}
