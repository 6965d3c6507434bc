//! Names in a rendered Pod template that belong to the operator, in one table: the renderers use these names, and the
//! webhook refuses them to users.

/// The names that belong to the operator in the Pods of one kind.
#[derive(Debug)]
pub struct ReservedNames {
    /// The operator's container, which a container of the same name in a partial template is merged over.
    pub container: &'static str,
    /// What that container does, as in "the scoring container".
    pub work: &'static str,
    /// Environment variables that the operator sets, each with advice for users.
    pub environment: &'static [(&'static str, &'static str)],
    /// Volumes that may not be replaced, each with advice for users.
    pub protected_volumes: &'static [(&'static str, &'static str)],
}

impl ReservedNames {
    /// Advice for a user who sets this variable; `None` if it may be set.
    pub fn variable(&self, name: &str) -> Option<&'static str> {
        advice(self.environment, name)
    }

    /// Advice for a user who replaces this volume; `None` if it may be replaced.
    pub fn volume(&self, name: &str) -> Option<&'static str> {
        advice(self.protected_volumes, name)
    }

    /// The volumes of the rendered Pod, which sidecars may mount.
    pub fn volumes(&self) -> impl Iterator<Item = &'static str> {
        self.protected_volumes.iter().map(|(name, _)| *name).chain([SCRATCH_VOLUME])
    }
}

fn advice(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(reserved, _)| *reserved == name).map(|(_, advice)| *advice)
}

pub const AGENT_CONTAINER: &str = "agent";
pub const TRAINER_CONTAINER: &str = "trainer";

/// Prefix of the operator's labels and annotations.
pub const RESERVED_PREFIX: &str = "vmafx.dev/";

/// The label by which a StatefulSet selects its Pods.
pub const WORKLOAD_LABEL: &str = "vmafx.dev/workload";

/// Label of a ServiceAccount that the operator applies: the kind of Pods that run as it.
pub const ACCOUNT_LABEL: &str = "vmafx.dev/account";

/// Label of the Kubernetes Job of a VmafxJob and of its Pods: the name of the resource, shortened to the length of a label
/// value. Annotation of the Pods: the whole name.
pub const JOB_LABEL: &str = "vmafx.dev/job";

/// Annotation with the value `"true"` of a Kubernetes Job that the operator suspended because its resource is suspended. The
/// operator does not resume a Job without it, because another client suspended that.
pub const HELD: &str = "vmafx.dev/held";

/// Annotation of a Kubernetes Job with the parts of the spec that its template was made from, as JSON. Earlier releases
/// wrote a digest into `vmafx.dev/request`, which nothing reads any more.
pub const SOURCE: &str = "vmafx.dev/source";

/// The projected ServiceAccount token for the controller, and the certificate authorities by which it is verified.
pub const TOKEN_VOLUME: &str = "vmafx-token";

/// Where clips are downloaded to. Users may replace it by a larger volume of the same name.
pub const SCRATCH_VOLUME: &str = "scratch";

/// The credentials of a trainer's registry.
pub const REGISTRY_VOLUME: &str = "registry-credentials";

const TOKEN: (&str, &str) = (TOKEN_VOLUME, "it holds the token for the controller; use another name");

pub const AGENT_NAMES: ReservedNames = ReservedNames {
    container: AGENT_CONTAINER,
    work: "scoring",
    environment: AGENT_VARIABLES,
    protected_volumes: &[TOKEN],
};

pub const TRAINER_NAMES: ReservedNames = ReservedNames {
    container: TRAINER_CONTAINER,
    work: "training",
    environment: TRAINER_VARIABLES,
    protected_volumes: &[TOKEN, (REGISTRY_VOLUME, "set spec.registrySecret instead")],
};

const AGENT_VARIABLES: &[(&str, &str)] = &[
    ("VMAFX_NODE_SLOTS", "set spec.capacity instead"),
    ("VMAFX_BACKEND", "set spec.gpuVendor (VmafxNode) or spec.backend (VmafxJob) instead"),
    ("VMAFX_NODE_SERVES", "set spec.servesNamespaces instead"),
    ("VMAFX_NODE_ID", "a worker is named after its Pod; remove it"),
    ("VMAFX_NODE_RESOURCE_NAMESPACE", "it identifies the VmafxNode of the worker; remove it"),
    ("VMAFX_NODE_RESOURCE_NAME", "it identifies the VmafxNode of the worker; remove it"),
    ("VMAFX_NODE_RESOURCE_UID", "it identifies the VmafxNode of the worker; remove it"),
    ("VMAFX_CLUSTER", "set VMAFX_CLUSTER of the operator instead"),
    ("VMAFX_CONTROLLER_ADDR", "set VMAFX_CONTROLLER_GRPC_ADDR of the operator instead"),
    ("VMAFX_CONTROLLER_TOKEN_FILE", "the operator mounts the token; remove it"),
    ("VMAFX_CONTROLLER_TOKEN", "the operator mounts a token; remove it"),
    (
        "VMAFX_SCORING_ROOTS",
        "set it on the controller, or VMAFX_OPERATOR_SCORING_ROOTS on the operator, instead",
    ),
    (
        "VMAFX_REPORT_ROOTS",
        "set it on the controller, or VMAFX_OPERATOR_REPORT_ROOTS on the operator, instead",
    ),
    ("VMAFX_HTTP_ADDR", "the probes of the Pod use this address; remove it"),
];

const TRAINER_VARIABLES: &[(&str, &str)] = &[
    ("VMAFX_TRAINER_NAME", "a trainer is named after its resource; remove it"),
    ("VMAFX_TRAINER_NAMESPACE", "it identifies the VmafxModelTraining; remove it"),
    ("VMAFX_TRAINER_UID", "it identifies the VmafxModelTraining; remove it"),
    ("VMAFX_TRAINER_BASE_MODEL", "set spec.baseModel instead"),
    ("VMAFX_TRAINER_ALGORITHM", "set spec.algorithm instead"),
    ("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "set spec.checkpoint.interval instead"),
    ("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "set spec.checkpoint.minSamples instead"),
    ("VMAFX_TRAINER_OUTPUT_REGISTRY", "set spec.outputRegistry instead"),
    ("VMAFX_TRAINER_GATE_MAX_SROCC_DROP", "set spec.gate.maxSroccDrop instead"),
    ("VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", "set spec.gate.maxRmseRatio instead"),
    ("VMAFX_TRAINER_NODE_SELECTOR", "set spec.dataSource.nodeSelector instead"),
    ("VMAFX_TRAINER_STATUS_ADDR", "the operator polls this address; remove it"),
    ("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", "set terminationGracePeriodSeconds of the template instead"),
    ("VMAFX_CLUSTER", "set VMAFX_CLUSTER of the operator instead"),
    ("VMAFX_CONTROLLER_ADDR", "set VMAFX_CONTROLLER_GRPC_ADDR of the operator instead"),
    ("VMAFX_CONTROLLER_TOKEN_FILE", "the operator mounts the token; remove it"),
    ("VMAFX_CONTROLLER_TOKEN", "the operator mounts a token; remove it"),
    ("DOCKER_CONFIG", "set spec.registrySecret instead"),
];
