//! All of a run at one moment: what is taken quickly while learning waits, and pushed while it goes on.

use bytes::Bytes;
use jiff::Timestamp;
use vmafx_oci::checkpoint::{CheckpointMetadata, ModelComparison, PredictionMetrics};
use vmafx_oci::{Artifact, Digest, checkpoint};

use super::registry::Registry;
use crate::learner;

/// All of a run at one moment. Which version it becomes is decided when it is pushed.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What it says of itself; its number is that of no version yet.
    pub facts: CheckpointMetadata,
    /// The model.
    pub model: Bytes,
    /// What a run needs to go on.
    pub state: Bytes,
}

impl Snapshot {
    /// As a version of a run, after another one.
    pub fn artifact(&self, number: u64, parent: Option<Digest>) -> Artifact {
        let facts = CheckpointMetadata { number, parent, ..self.facts.clone() };
        checkpoint::artifact(&facts, self.model.clone(), self.state.clone())
    }
}

/// What of the facts does not change during a run.
#[derive(Clone, Debug)]
pub struct About {
    /// The namespace.
    pub namespace: String,
    /// The base model, as the settings have it.
    pub base_model: String,
    /// Its digest.
    pub base_digest: String,
    /// The learner's seed.
    pub seed: u64,
    /// How slowly its average follows.
    pub ema: f64,
}

impl About {
    /// The facts of a moment.
    pub fn facts(
        &self,
        registry: &Registry,
        learner: &learner::Learner,
        verdict: &learner::Verdict,
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
            gate_passed: verdict.passed,
            gate_message: verdict.message.clone(),
            seed: self.seed,
            ema: self.ema,
        }
    }
}

fn pair(pair: &learner::Pair) -> ModelComparison {
    let metrics = |of: &learner::Metrics| PredictionMetrics {
        count: of.count,
        rmse: of.rmse,
        plcc: of.plcc,
        srocc: of.srocc,
    };
    ModelComparison { model: metrics(&pair.model), base: metrics(&pair.base) }
}
