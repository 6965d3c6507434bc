//! The status of a job.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vmafx_job::{ModelUsed, PooledScores};

use crate::conditions::Condition;

/// State and result of the job. Only the operator writes it.
#[derive(Clone, Debug, Default, PartialEq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VmafxJobStatus {
    /// State of the job as one word, derived from the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,

    /// The pooled VMAF score: the mean over the scored frames. Present whenever the phase is Succeeded, also when it is
    /// 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,

    /// Name of the node that scores or scored the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_node: Option<String>,

    /// The job's id at the controller.
    #[serde(rename = "controllerJobID", default, skip_serializing_if = "Option::is_none")]
    pub controller_job_id: Option<String>,

    /// When the current attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When the job succeeded, failed or was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// Why the job waits or failed, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// The newest generation of the spec that the job follows. It stays behind metadata.generation while a change has not
    /// reached the controller, if the controller refuses the change, and if the job ended before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Accepted, Running, Complete, Failed and Suspended; all present from the first write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// How often the job was assigned to a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,

    /// How many frame pairs were scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<i64>,

    /// The model that was used, after defaults were applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUsed>,

    /// The score pooled over the frames in other ways than the mean alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = crate::crd::nothing_required)]
    pub scores: Option<PooledScores>,

    /// Whether the score reached spec.minScore; absent when the spec names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,

    /// The ground truth with which the job became a training sample. It differs from spec.groundTruth until the operator
    /// has sent a change to the controller, and keeps the old value if the controller refuses the change, which is
    /// reported as an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground_truth: Option<f64>,

    /// Where the per-frame report was written.
    #[serde(rename = "reportURI", default, skip_serializing_if = "Option::is_none")]
    pub report_uri: Option<String>,
}

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(transform = crate::crd::described_by_its_field)]
pub enum Phase {
    /// The job waits for the controller or for a node, or is suspended.
    Pending,
    /// A node is scoring the job.
    Running,
    /// The job has a score.
    Succeeded,
    /// The job ended without a score.
    Failed,
    /// The job was cancelled by request.
    Cancelled,
}

impl Phase {
    /// Whether a job never leaves this phase.
    pub const fn is_last(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled => true,
            Self::Pending | Self::Running => false,
        }
    }
}
