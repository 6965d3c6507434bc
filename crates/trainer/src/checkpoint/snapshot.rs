//! The content of a checkpoint. Learning pauses while a snapshot is taken and continues while it is pushed.

use bytes::Bytes;
use jiff::Timestamp;
use vmafx_oci::checkpoint::{CheckpointMetadata, ModelComparison, PredictionMetrics};
use vmafx_oci::{Artifact, Digest, checkpoint};

use super::registry::CheckpointRegistry;
use crate::learner;

#[derive(Clone, Debug)]
pub struct CheckpointSnapshot {
    /// Without number and parent, which are known only when the snapshot is pushed.
    pub facts: CheckpointMetadata,
    /// libvmaf's JSON.
    pub model: Bytes,
    /// The encoded [`TrainerState`](super::TrainerState).
    pub state: Bytes,
}

impl CheckpointSnapshot {
    pub fn artifact(&self, number: u64, parent: Option<Digest>) -> Artifact {
        let facts = CheckpointMetadata { number, parent, ..self.facts.clone() };
        checkpoint::artifact(&facts, self.model.clone(), self.state.clone())
    }
}

/// The part of the facts that is constant during a run.
#[derive(Clone, Debug)]
pub struct RunMetadata {
    pub namespace: String,
    /// The base model's name, as in the settings.
    pub base_model: String,
    pub base_digest: String,
    pub seed: u64,
    pub ema: f64,
}

impl RunMetadata {
    pub fn facts(
        &self,
        registry: &CheckpointRegistry,
        learner: &learner::Learner,
        verdict: &learner::GateVerdict,
        cursor: &str,
        created: Timestamp,
    ) -> CheckpointMetadata {
        let evaluation = learner.evaluation();
        CheckpointMetadata {
            name: registry.name.clone(),
            namespace: self.namespace.clone(),
            uid: registry.uid.clone(),
            number: 0,
            created,
            base_model: self.base_model.clone(),
            base_digest: self.base_digest.clone(),
            parent: None,
            samples: learner.samples(),
            refused: learner.refused().map(|(_, count)| count).sum(),
            cursor: cursor.to_owned(),
            all: pair(&evaluation.all),
            window: pair(&evaluation.window),
            held_out: pair(&verdict.held_out),
            gate_passed: verdict.passed(),
            gate_message: verdict.message.clone(),
            seed: self.seed,
            ema: self.ema,
        }
    }
}

fn pair(both: &learner::ModelComparison) -> ModelComparison {
    let metrics = |of: &learner::QualityMetrics| PredictionMetrics {
        count: of.count,
        rmse: of.rmse,
        plcc: of.plcc,
        srocc: of.srocc,
    };
    ModelComparison { model: metrics(&both.model), base: metrics(&both.base) }
}
