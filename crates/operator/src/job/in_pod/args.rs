//! The arguments of `vmafx-node run-once`: the scoring request as one JSON document.

use vmafx_api::VmafxJobSpec;

/// The container writes its result here; the kubelet copies it to the status of the Pod.
pub const RESULT_PATH: &str = "/dev/termination-log";

pub fn args(spec: &VmafxJobSpec) -> Vec<String> {
    let request = serde_json::to_string(&spec.scoring_request()).unwrap_or_default();
    let request = escaped(&format!("--request={request}"));
    vec!["run-once".to_owned(), request, format!("--result={RESULT_PATH}")]
}

/// Escapes a text for the kubelet, which would replace `$(NAME)` by the value of an environment variable. The value may
/// be a secret, and the author of a job chooses the URIs.
pub fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}
