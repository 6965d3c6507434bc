//! What of a rendered Pod template belongs to the operator, in one table: whoever renders uses these names, and the
//! rules refuse them to users.

/// A container of a rendered template that is ours: one of the same name in a partial template is merged over it.
#[derive(Debug)]
pub struct ReservedNames {
    /// Its name.
    pub container: &'static str,
    /// What it does.
    pub work: &'static str,
    /// Its variables that follow from somewhere else, each with what to do instead.
    pub environment: &'static [(&'static str, &'static str)],
    /// Volumes of its Pod that may not be replaced, each with what to do instead.
    pub kept: &'static [(&'static str, &'static str)],
}

impl ReservedNames {
    /// Why a variable is not to be set; nothing if it may be.
    pub fn variable(&self, name: &str) -> Option<&'static str> {
        advice(self.environment, name)
    }

    /// Why a volume is not to be replaced; nothing if it may be.
    pub fn volume(&self, name: &str) -> Option<&'static str> {
        advice(self.kept, name)
    }

    /// Volumes that its Pod has, so that sidecars may mount them.
    pub fn volumes(&self) -> impl Iterator<Item = &'static str> {
        self.kept.iter().map(|(name, _)| *name).chain([SCRATCH_VOLUME])
    }
}

fn advice(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(reserved, _)| *reserved == name).map(|(_, advice)| *advice)
}

/// The container that scores.
pub const AGENT_CONTAINER: &str = "agent";

/// The container that learns.
pub const TRAINER_CONTAINER: &str = "trainer";

/// Labels and annotations below this prefix are ours.
pub const RESERVED_PREFIX: &str = "vmafx.dev/";

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

/// The credentials of a trainer's registry, if it has any.
pub const REGISTRY_VOLUME: &str = "registry-credentials";

/// The authorities by which a trainer knows the controller, if they are its own.
pub const CA_VOLUME: &str = "controller-ca";

const TOKEN: (&str, &str) = (TOKEN_VOLUME, "it holds the token for the controller; use another name");

/// What scores.
pub const AGENT_NAMES: ReservedNames =
    ReservedNames { container: AGENT_CONTAINER, work: "scoring", environment: OF_AGENTS, kept: &[TOKEN] };

/// What learns.
pub const TRAINER_NAMES: ReservedNames = ReservedNames {
    container: TRAINER_CONTAINER,
    work: "learning",
    environment: OF_TRAINERS,
    kept: &[
        TOKEN,
        (REGISTRY_VOLUME, "set spec.registrySecret instead"),
        (CA_VOLUME, "set VMAFX_OPERATOR_TRAINER_CA_CONFIGMAP of the operator instead"),
    ],
};

const OF_AGENTS: &[(&str, &str)] = &[
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

const OF_TRAINERS: &[(&str, &str)] = &[
    ("VMAFX_TRAINER_NAME", "a trainer is named after its resource; remove it"),
    ("VMAFX_TRAINER_NAMESPACE", "it says whose trainer this is; remove it"),
    ("VMAFX_TRAINER_UID", "it says whose trainer this is; remove it"),
    ("VMAFX_TRAINER_BASE_MODEL", "set spec.baseModel instead"),
    ("VMAFX_TRAINER_ALGORITHM", "set spec.algorithm instead"),
    ("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "set spec.checkpoint.interval instead"),
    ("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "set spec.checkpoint.minSamples instead"),
    ("VMAFX_TRAINER_OUTPUT_REGISTRY", "set spec.outputRegistry instead"),
    ("VMAFX_TRAINER_GATE_MAX_SROCC_DROP", "set spec.gate.maxSroccDrop instead"),
    ("VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", "set spec.gate.maxRmseRatio instead"),
    ("VMAFX_TRAINER_NODE_SELECTOR", "set spec.dataSource.nodeSelector instead"),
    ("VMAFX_TRAINER_STATUS_ADDR", "the operator asks at this address; remove it"),
    ("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", "set terminationGracePeriodSeconds of the template instead"),
    ("VMAFX_CLUSTER", "it says whose trainer this is; remove it"),
    ("VMAFX_CONTROLLER_ADDR", "set VMAFX_CONTROLLER_GRPC_ADDR of the operator instead"),
    ("VMAFX_CONTROLLER_TOKEN_FILE", "the operator mounts the token; remove it"),
    ("VMAFX_CONTROLLER_TOKEN", "the operator mounts a token; remove it"),
    ("DOCKER_CONFIG", "set spec.registrySecret instead"),
];
