//! `VmafxModelTraining`: a model that keeps learning from labelled jobs.

mod status;

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::status::{TrainingMetrics, TrainingPhase, VmafxModelTrainingStatus};
use crate::pod_template::PartialPodTemplate;
use crate::rules;

const NEW_TRAINING: &str = "a run goes on from its own checkpoints; create a new VmafxModelTraining instead";

/// What to learn from, how, and where to put the result.
#[derive(Clone, Debug, PartialEq, CustomResource, KubeSchema, Serialize, Deserialize)]
#[kube(
    group = "vmafx.dev",
    version = "v1",
    kind = "VmafxModelTraining",
    plural = "vmafxmodeltrainings",
    namespaced,
    shortname = "vmtrain",
    category = "vmafx",
    status = "VmafxModelTrainingStatus",
    derive = "PartialEq",
    doc = "A continuous training run: it learns from finished jobs with a ground truth and pushes checkpoints of the \
           model to an OCI registry.",
    selectable = ".status.phase",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Samples", type_ = "integer", json_path = ".status.currentSamples"),
    printcolumn(name = "ModelVersion", type_ = "string", json_path = ".status.modelVersion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Stable", type_ = "string", json_path = ".status.stableVersion", priority = "1"),
    printcolumn(name = "Checkpoint", type_ = "date", json_path = ".status.lastCheckpoint", priority = "1"),
    printcolumn(name = "RMSE", type_ = "number", json_path = ".status.metrics.rmse", priority = "1"),
    printcolumn(name = "SROCC", type_ = "number", json_path = ".status.metrics.srocc", priority = "1"),
    printcolumn(name = "Base", type_ = "string", json_path = ".spec.baseModel", priority = "1")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = rules::immutable("baseModel", NEW_TRAINING),
    validation = rules::immutable("algorithm", NEW_TRAINING),
    validation = rules::immutable("outputRegistry", NEW_TRAINING),
)]
pub struct VmafxModelTrainingSpec {
    /// The model to start from: the name of a built-in one such as vmaf_v0.6.1, a file in the model directory, or
    /// oci://….
    #[schemars(length(min = 1, max = 1024))]
    pub base_model: String,

    /// Which finished jobs to learn from. Left out, all with a ground truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_source: Option<DataSource>,

    /// The learning algorithm.
    pub algorithm: Algorithm,

    /// When to write a checkpoint.
    #[serde(default)]
    pub checkpoint: CheckpointPolicy,

    /// Repository in an OCI registry to which checkpoints are pushed, such as registry.example.com/team/models.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = rules::oci_repository())]
    pub output_registry: String,

    /// Stop learning but keep the model and its position in the sample stream. Set to false, the run resumes from there.
    #[serde(default)]
    pub paused: bool,

    /// Trainer image. Left out, the image that the operator is configured with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub image: Option<String>,

    /// Name of a Secret of type kubernetes.io/dockerconfigjson in the same namespace, with the credentials for
    /// outputRegistry. Left out, the push is anonymous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub registry_secret: Option<String>,

    /// What a checkpoint must reach on held-out samples before the stable tag moves to it.
    #[serde(default)]
    pub gate: PromotionGate,

    /// Parts of a Pod template, merged by name over the rendered one, whose container is called trainer: resources, a
    /// ServiceAccount, the certificate authority of a registry. If the API server rejects the result, the condition
    /// WorkloadSynced says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PartialPodTemplate>,
}

/// Which finished jobs to learn from.
#[derive(Clone, Debug, Default, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataSource {
    /// Labels that the VmafxNode which scored the job must have. Empty = any node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
}

/// A learning algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum Algorithm {
    /// Stochastic gradient descent on each sample as it comes, with an exponential moving average of the weights.
    #[serde(rename = "online-sgd-ema")]
    OnlineSgdEma,
}

/// When to write a checkpoint: when both conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointPolicy {
    /// Minimum time between two checkpoints, as a duration such as 30s, 10m or 1h30m.
    #[serde(default = "defaults::interval")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(validation = rules::duration())]
    pub interval: String,

    /// Minimum number of new samples between two checkpoints.
    #[serde(default = "defaults::min_samples")]
    #[schemars(range(min = 1))]
    pub min_samples: i32,
}

impl Default for CheckpointPolicy {
    fn default() -> Self {
        Self { interval: defaults::interval(), min_samples: defaults::min_samples() }
    }
}

mod defaults {
    pub(super) fn interval() -> String {
        "10m".into()
    }

    pub(super) fn min_samples() -> i32 {
        1000
    }
}

/// What a checkpoint must reach before the stable tag moves to it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromotionGate {
    /// Maximum drop of the rank correlation with viewers (SROCC) below that of the base model.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub max_srocc_drop: f64,

    /// Maximum ratio of the error of the checkpoint (RMSE) to that of the base model; 1 = not worse.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub max_rmse_ratio: f64,
}

impl Default for PromotionGate {
    fn default() -> Self {
        Self { max_srocc_drop: 0.005, max_rmse_ratio: 1.0 }
    }
}
