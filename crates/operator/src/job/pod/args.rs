//! The arguments of `vmafx-node run-once`: the part of the spec that concerns the score, as one JSON document.

use vmafx_api::VmafxJobSpec;

/// Where the container leaves its result, which the kubelet then shows in the status of the Pod.
pub const RESULT: &str = "/dev/termination-log";

pub fn args(spec: &VmafxJobSpec) -> Vec<String> {
    let request = serde_json::to_string(&spec.scoring_request()).unwrap_or_default();
    let request = literal(&format!("--request={request}"));
    vec!["run-once".to_owned(), request, format!("--result={RESULT}")]
}

/// A text that the kubelet leaves as it is. `$(NAME)` would become the value of a variable, which may be a secret, and
/// an address is written by whoever wants clips scored.
pub fn literal(text: &str) -> String {
    text.replace('$', "$$")
}
