//! Resources and observations for tests.

use serde_json::{Value, json};
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;

use super::observe::{Explanation, ObservedJob};

/// A job of the second generation; `spec` is merged over the default one.
pub(super) fn job(spec: &Value, status: &Value) -> VmafxJob {
    let mut whole = json!({ "reference": "file:///r", "distorted": "file:///d" });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
        "metadata": { "name": "j", "namespace": "video", "uid": "u", "generation": 2,
                      "creationTimestamp": "1970-01-12T13:00:00Z" },
        "spec": whole, "status": status,
    }))
    .unwrap()
}

pub(super) fn down() -> ObservedJob {
    let (reason, message) = (Reason::ControllerUnreachable, "no answer".to_owned());
    ObservedJob::Unreachable(Explanation { reason, message })
}
