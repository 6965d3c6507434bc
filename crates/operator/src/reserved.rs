//! What of a rendered Pod template belongs to the operator, in one table: whoever renders uses these names, and the
//! rules refuse them to users.

/// The container that scores. A partial template with a container of this name is merged over it.
pub const CONTAINER: &str = "agent";

/// Labels and annotations below this prefix are ours.
pub const PREFIX: &str = "vmafx.dev/";

/// The one label by which a StatefulSet finds its Pods.
pub const WORKLOAD_LABEL: &str = "vmafx.dev/workload";

/// On the Kubernetes Job of a VmafxJob and on its Pods, as a label: the name of the resource, or as much of it as a label
/// holds; and as an annotation of Pods: all of it.
pub const JOB_LABEL: &str = "vmafx.dev/job";

/// On a Kubernetes Job that the operator has suspended because its resource is: `"true"`. Without it, whoever else
/// suspended the Job decides when it goes on.
pub const HELD: &str = "vmafx.dev/held";

/// The projected ServiceAccount token for the controller.
pub const TOKEN_VOLUME: &str = "vmafx-token";

/// Where clips are fetched to. Users may put a larger volume of the same name in its place.
pub const SCRATCH_VOLUME: &str = "scratch";

/// Volumes that exist in every rendered template, so that sidecars may mount them.
pub const VOLUMES: &[&str] = &[TOKEN_VOLUME, SCRATCH_VOLUME];

/// Variables of the scoring container that follow from somewhere else, each with the place to change instead.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("VMAFX_NODE_SLOTS", "set spec.capacity instead"),
    ("VMAFX_BACKEND", "set spec.gpuVendor (VmafxNode) or spec.backend (VmafxJob) instead"),
    ("VMAFX_NODE_ID", "a worker is named after its Pod; remove it"),
    ("VMAFX_NODE_RESOURCE_NAMESPACE", "it says whose worker this is; remove it"),
    ("VMAFX_NODE_RESOURCE_NAME", "it says whose worker this is; remove it"),
    ("VMAFX_NODE_RESOURCE_UID", "it says whose worker this is; remove it"),
    ("VMAFX_CLUSTER", "it says whose worker this is; remove it"),
    ("VMAFX_CONTROLLER_ADDR", "set VMAFX_CONTROLLER_GRPC_ADDR of the operator instead"),
    ("VMAFX_CONTROLLER_TOKEN_FILE", "the operator mounts the token; remove it"),
    ("VMAFX_CONTROLLER_TOKEN", "the operator mounts a token; remove it"),
    (
        "VMAFX_SCORING_ROOTS",
        "set it on the controller, or VMAFX_OPERATOR_SCORING_ROOTS on the operator, instead",
    ),
    ("VMAFX_HTTP_ADDR", "the probes ask at this address; remove it"),
];

/// Why a variable is not to be set; nothing if it may be.
pub fn variable(name: &str) -> Option<&'static str> {
    ENVIRONMENT.iter().find(|(reserved, _)| *reserved == name).map(|(_, advice)| *advice)
}
