//! The arguments of `vmafx-node run-once`: the part of the spec that concerns the score, as one JSON document.

use serde_json::{Value, json};
use vmafx_api::VmafxJobSpec;

/// Where the container leaves its result, which the kubelet then shows in the status of the Pod.
pub const RESULT: &str = "/dev/termination-log";

pub fn args(spec: &VmafxJobSpec) -> Vec<String> {
    let request = literal(&format!("--request={}", request(spec)));
    vec!["run-once".to_owned(), request, format!("--result={RESULT}")]
}

/// A text that the kubelet leaves as it is. `$(NAME)` would become the value of a variable, which may be a secret, and
/// an address is written by whoever wants clips scored.
pub fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

/// A `vmafx_job::ScoringRequest`: the options of `spec.scoring` are fields of the document itself.
fn request(spec: &VmafxJobSpec) -> Value {
    let mut request = json!({
        "reference": spec.reference, "distorted": spec.distorted, "model": spec.model, "backend": spec.backend,
        "input": spec.input, "reportURI": spec.report_uri,
    });
    if let (Value::Object(fields), Value::Object(options)) = (&mut request, json!(spec.scoring)) {
        fields.extend(options);
    }
    if let Value::Object(fields) = &mut request {
        fields.retain(|_, value| !value.is_null());
    }
    request
}
