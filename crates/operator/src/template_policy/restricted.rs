//! What a template may not use where no webhook asks whether its author may.

use serde_json::Value;

use super::TemplateViolation;
use super::reference::visit;
use crate::webhook::rules::FieldPath;

/// How an administrator permits more.
pub(super) const PERMIT: &str =
    "have the administrator enable the webhook, or set VMAFX_OPERATOR_POD_TEMPLATES=any on the operator";

pub(super) const TOKEN: &str = "templates may not mount tokens here: remove it, or have the administrator enable the \
                                webhook, or set VMAFX_OPERATOR_POD_TEMPLATES=any on the operator";

/// Types of volumes that neither hold a Secret nor belong to the machine.
const VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
];

pub(super) fn secret(field: FieldPath) -> TemplateViolation {
    TemplateViolation { field, advice: format!("templates may not use Secrets here: remove it, or {PERMIT}") }
}

/// Reports what reaches into the machine.
pub(super) fn machine(path: &FieldPath, spec: &Value, all: &mut Vec<TemplateViolation>) {
    let mut refuse = |field: &FieldPath| {
        let advice = format!("templates may not reach into the machine here: remove it, or {PERMIT}");
        all.push(TemplateViolation { field: field.clone(), advice });
    };
    let volumes = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    for (index, volume) in volumes.enumerate() {
        for (source, value) in volume.as_object().into_iter().flatten() {
            // A Secret is reported as one.
            let is_known =
                ["name", "secret"].contains(&source.as_str()) || VOLUMES.contains(&source.as_str());
            if !is_known && !value.is_null() {
                refuse(&path.field("volumes").item(index).field(source));
            }
        }
    }
    visit(path, spec, &mut |path, field, value| {
        let reaches = match field {
            "hostNetwork" | "hostPID" | "hostIPC" | "privileged" | "allowPrivilegeEscalation" => {
                value.as_bool() == Some(true)
            }
            "hostPort" => value.as_i64().is_some_and(|port| port > 0),
            "capabilities" => {
                value.get("add").and_then(Value::as_array).is_some_and(|added| !added.is_empty())
            }
            _ => false,
        };
        if reaches {
            refuse(path);
        }
        !reaches
    });
}
