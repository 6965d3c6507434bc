//! The status of a pool of workers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::Condition;
use crate::workload::StatefulSetRef;

/// State of the workers. Every field has one writer at a time: the controller writes lastHeartbeat, assignedJobs,
/// detectedDevice and quarantine from the reports of the agents, and the operator writes the rest.
#[derive(Clone, Debug, Default, PartialEq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VmafxNodeStatus {
    /// Whether the workers can run jobs: the controller responds, the last heartbeat is not older than 60 s, and not every
    /// worker is quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy: Option<bool>,

    /// Time of the last heartbeat of an agent of this pool. Written by the controller, never by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<Time>,

    /// When the operator last probed the controller for this status. The time is written when something else of the status
    /// changes, not with every probe, so that a pool to which nothing happens costs no write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<Time>,

    /// Jobs that the workers are scoring. Written by the controller; the operator writes 0 until an agent has reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub assigned_jobs: Option<i32>,

    /// The compute device that the agents detected. Written by the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected_device: Option<String>,

    /// Workers that get no jobs but on trial, because they failed several in a row. Absent if there are none. Written by
    /// the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<QuarantinedWorkers>,

    /// The StatefulSet that runs the workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful_set: Option<StatefulSetRef>,

    /// Workers that exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,

    /// Workers that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ready_replicas: Option<i32>,

    /// Label selector of the worker Pods, in text form; the scale subresource hands it to autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    /// The image that the workers run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_image: Option<String>,

    /// The generation of the spec that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, WorkloadSynced, Paused, RolloutInProgress, AgentHealthy and Quarantined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// Workers that get no jobs but on trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuarantinedWorkers {
    /// Number of quarantined workers.
    #[schemars(range(min = 1))]
    pub workers: i32,

    /// Number of workers that send heartbeats, quarantined or not.
    #[schemars(range(min = 1))]
    pub connected: i32,

    /// Why the last job of a quarantined worker failed, as one CamelCase word.
    #[schemars(length(max = 64))]
    pub reason: String,

    /// The name of that worker and the error of its last job.
    #[schemars(length(max = 4096))]
    pub message: String,
}
