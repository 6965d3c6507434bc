//! `VmafxNode`: a pool of workers of one kind.

mod status;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ResourceRequirements, Toleration};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::status::{QuarantinedWorkers, VmafxNodeStatus};
use crate::pod_template::PartialPodTemplate;

/// The workers to run and the hardware they compute with.
#[derive(Clone, Debug, PartialEq, CustomResource, KubeSchema, Serialize, Deserialize)]
#[kube(
    group = "vmafx.dev",
    version = "v1",
    kind = "VmafxNode",
    plural = "vmafxnodes",
    namespaced,
    shortname = "vmnode",
    category = "vmafx",
    status = "VmafxNodeStatus",
    derive = "PartialEq",
    doc = "Workers of one kind that pull jobs from the vmafx-controller and score them.",
    selectable = ".spec.gpuVendor",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Vendor", type_ = "string", json_path = ".spec.gpuVendor"),
    printcolumn(name = "Healthy", type_ = "boolean", json_path = ".status.healthy"),
    printcolumn(name = "Jobs", type_ = "integer", json_path = ".status.assignedJobs"),
    printcolumn(name = "Device", type_ = "string", json_path = ".status.detectedDevice"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas", priority = "1"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas", priority = "1"),
    printcolumn(name = "Paused", type_ = "boolean", json_path = ".spec.paused", priority = "1"),
    printcolumn(name = "Heartbeat", type_ = "date", json_path = ".status.lastHeartbeat", priority = "1"),
    printcolumn(
        name = "Quarantined",
        type_ = "integer",
        json_path = ".status.quarantine.workers",
        priority = "1"
    ),
    printcolumn(name = "Image", type_ = "string", json_path = ".status.currentImage", priority = "1"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = "1"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = workload_field("image"),
    validation = workload_field("resources"),
    validation = workload_field("nodeSelector"),
    validation = workload_field("tolerations"),
    validation = workload_field("podTemplate"),
    validation = workload_field("servesNamespaces"),
    validation = Rule::new("self.managementPolicy == 'Managed' || !self.paused")
        .message("cannot pause workers that somebody else runs: stop them there, or set managementPolicy to Managed")
        .field_path(".paused")
        .reason(Reason::FieldValueForbidden),
)]
pub struct VmafxNodeSpec {
    /// Vendor of the GPU that each worker gets; cpu = none.
    pub gpu_vendor: GpuVendor,

    /// How many jobs one worker scores at the same time.
    #[serde(default = "defaults::one")]
    #[schemars(range(min = 1, max = 64))]
    pub capacity: i32,

    /// Worker image. Left out, the image that the operator is configured with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub image: Option<String>,

    /// Remove the workers but keep everything else: the StatefulSet is scaled to zero, and running jobs return to the
    /// queue. Set to false, the workers return.
    #[serde(default)]
    pub paused: bool,

    /// Number of workers. `kubectl scale` and a HorizontalPodAutoscaler write this field.
    #[serde(default = "defaults::one")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,

    /// Seconds that a new worker must be ready before a rolling update replaces the next one; without it, 0. Only for
    /// workers that the operator runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub min_ready_seconds: Option<i32>,

    /// Who runs the workers: Managed = the operator, in a StatefulSet; External = another system, and the operator only
    /// reports their health.
    #[serde(default)]
    pub management_policy: ManagementPolicy,

    /// Namespaces whose jobs the workers score besides those of their own namespace, as far as the administrator of the
    /// controller permits it; "*" stands for all. Only where each namespace is a tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)))]
    #[x_kube(validation = namespaces_or_all())]
    pub serves_namespaces: Option<Vec<String>>,

    /// CPU, memory and further resources of one worker. The GPU of gpuVendor is added to these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,

    /// Labels that a Kubernetes node must have to run a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,

    /// Taints of Kubernetes nodes that the workers tolerate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub tolerations: Option<Vec<Toleration>>,

    /// Parts of a Pod template, merged by name over the rendered one: volumes, credentials from Secrets, sidecars. If
    /// the API server rejects the result, the condition WorkloadSynced says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PartialPodTemplate>,
}

mod defaults {
    pub(super) fn one() -> i32 {
        1
    }
}

/// Refuses a field of the workload under `External`, where it would have no effect.
fn workload_field(field: &str) -> kube::core::cel::Rule {
    kube::core::cel::Rule::new(format!("self.managementPolicy == 'Managed' || !has(self.{field})"))
        .message(
            "has no effect with managementPolicy: External; remove it or set managementPolicy to Managed",
        )
        .field_path(format!(".{field}"))
        .reason(kube::core::cel::Reason::FieldValueForbidden)
}

/// Names of namespaces, or "*" alone.
fn namespaces_or_all() -> kube::core::cel::Rule {
    kube::core::cel::Rule::new(
        "self.all(name, name.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')) || (self.size() == 1 && self[0] == '*')",
    )
    .message("must be names of namespaces, or [\"*\"] alone for all of them")
}

/// Vendor of the hardware that a worker computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuVendor {
    /// CUDA.
    Nvidia,
    /// HIP.
    Amd,
    /// SYCL.
    Intel,
    /// No GPU.
    Cpu,
}

/// Who runs the workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum ManagementPolicy {
    /// The operator.
    #[default]
    Managed,
    /// Another system.
    External,
}
