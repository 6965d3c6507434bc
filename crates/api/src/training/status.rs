//! The status of a training run.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::Condition;
use crate::workload::StatefulSetRef;

/// State of the run. Only the operator writes it, from the reports of the trainer.
#[derive(Clone, Debug, Default, PartialEq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VmafxModelTrainingStatus {
    /// Samples learned from since the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub current_samples: Option<i32>,

    /// When the last checkpoint was pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_checkpoint: Option<Time>,

    /// Version of the last checkpoint, which is also its tag in the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_version: Option<String>,

    /// State of the run as one word. There is no final success, because training is continuous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<TrainingPhase>,

    /// The generation of the spec that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, WorkloadSynced, Paused, RolloutInProgress, CheckpointPushed and GatePassed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// The StatefulSet that runs the trainer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful_set: Option<StatefulSetRef>,

    /// New samples since the last checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub samples_pending: Option<i32>,

    /// Quality of the model, compared with the base model on the same samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<TrainingMetrics>,

    /// The version that the stable tag points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable_version: Option<String>,

    /// Digest of the last checkpoint (sha256:…).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// State of a training run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(transform = crate::crd::described_by_its_field)]
pub enum TrainingPhase {
    /// The trainer starts, or has not responded yet.
    Initializing,
    /// The trainer learns.
    Running,
    /// The run was paused by request.
    Paused,
    /// The run cannot continue; the conditions say why.
    Failed,
}

/// Errors and correlations between predicted scores and ground truths. Each sample is predicted before it is learned from.
#[derive(Clone, Debug, Default, PartialEq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrainingMetrics {
    /// Root mean square error of the trained model; lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// Linear correlation of the trained model; 1 is best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plcc: Option<f64>,
    /// Rank correlation of the trained model; 1 is best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srocc: Option<f64>,
    /// Root mean square error of the base model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rmse: Option<f64>,
    /// Rank correlation of the base model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_srocc: Option<f64>,
}
