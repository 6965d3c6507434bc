//! Checkpoints as JSON and YAML.

use serde::Serialize;
use vmafx_oci::Digest;
use vmafx_oci::checkpoint::{CheckpointMetadata, ModelComparison, PredictionMetrics};

use super::checkpoints::Checkpoint;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckpointDocument<'a> {
    version: String,
    digest: &'a Digest,
    stable: bool,
    created: String,
    training: TrainingDocument<'a>,
    number: u64,
    parent: Option<&'a Digest>,
    base: BaseModelDocument<'a>,
    samples: u64,
    refused: u64,
    cursor: &'a str,
    all: ComparisonDocument,
    window: ComparisonDocument,
    held_out: ComparisonDocument,
    gate: GateDocument<'a>,
    learner: LearnerDocument,
}

#[derive(Serialize)]
struct TrainingDocument<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
}

#[derive(Serialize)]
struct BaseModelDocument<'a> {
    name: &'a str,
    digest: &'a str,
}

#[derive(Serialize)]
struct ComparisonDocument {
    model: MetricsDocument,
    base: MetricsDocument,
}

#[derive(Serialize)]
struct MetricsDocument {
    count: u64,
    rmse: Option<f64>,
    plcc: Option<f64>,
    srocc: Option<f64>,
}

#[derive(Serialize)]
struct GateDocument<'a> {
    passed: bool,
    message: &'a str,
}

#[derive(Serialize)]
struct LearnerDocument {
    seed: u64,
    ema: f64,
}

impl<'a> CheckpointDocument<'a> {
    pub(super) fn of(checkpoint: &'a Checkpoint) -> Self {
        let Checkpoint { digest, stable, metadata } = checkpoint;
        let CheckpointMetadata { name, namespace, uid, base_model, base_digest, .. } = metadata;
        Self {
            version: metadata.version(),
            digest,
            stable: *stable,
            created: metadata.created.to_string(),
            training: TrainingDocument { name, namespace, uid },
            number: metadata.number,
            parent: metadata.parent.as_ref(),
            base: BaseModelDocument { name: base_model, digest: base_digest },
            samples: metadata.samples,
            refused: metadata.refused,
            cursor: &metadata.cursor,
            all: metadata.all.into(),
            window: metadata.window.into(),
            held_out: metadata.held_out.into(),
            gate: GateDocument { passed: metadata.gate_passed, message: &metadata.gate_message },
            learner: LearnerDocument { seed: metadata.seed, ema: metadata.ema },
        }
    }
}

impl From<ModelComparison> for ComparisonDocument {
    fn from(comparison: ModelComparison) -> Self {
        Self { model: comparison.model.into(), base: comparison.base.into() }
    }
}

impl From<PredictionMetrics> for MetricsDocument {
    fn from(metrics: PredictionMetrics) -> Self {
        let PredictionMetrics { count, rmse, plcc, srocc } = metrics;
        Self { count, rmse: (count > 0).then_some(rmse), plcc, srocc }
    }
}
