//! Checkpoints for programs.

use serde::Serialize;
use vmafx_oci::Digest;
use vmafx_oci::checkpoint::{CheckpointMetadata, ModelComparison, PredictionMetrics};

use super::versions::Version;

/// What a checkpoint says of itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Checkpoint<'a> {
    version: String,
    digest: &'a Digest,
    stable: bool,
    created: String,
    training: Training<'a>,
    number: u64,
    parent: Option<&'a Digest>,
    base: Base<'a>,
    samples: u64,
    refused: u64,
    cursor: &'a str,
    all: Both,
    window: Both,
    held_out: Both,
    gate: Gate<'a>,
    learner: Learner,
}

#[derive(Serialize)]
struct Training<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
}

#[derive(Serialize)]
struct Base<'a> {
    name: &'a str,
    digest: &'a str,
}

#[derive(Serialize)]
struct Both {
    model: Numbers,
    base: Numbers,
}

#[derive(Serialize)]
struct Numbers {
    count: u64,
    rmse: Option<f64>,
    plcc: Option<f64>,
    srocc: Option<f64>,
}

#[derive(Serialize)]
struct Gate<'a> {
    passed: bool,
    message: &'a str,
}

#[derive(Serialize)]
struct Learner {
    seed: u64,
    ema: f64,
}

impl<'a> Checkpoint<'a> {
    pub(super) fn of(version: &'a Version) -> Self {
        let Version { digest, stable, facts } = version;
        let CheckpointMetadata { name, namespace, uid, base_model, base_digest, .. } = facts;
        Self {
            version: facts.version(),
            digest,
            stable: *stable,
            created: facts.created.to_string(),
            training: Training { name, namespace, uid },
            number: facts.number,
            parent: facts.parent.as_ref(),
            base: Base { name: base_model, digest: base_digest },
            samples: facts.samples,
            refused: facts.refused,
            cursor: &facts.cursor,
            all: facts.all.into(),
            window: facts.window.into(),
            held_out: facts.held_out.into(),
            gate: Gate { passed: facts.gate_passed, message: &facts.gate_message },
            learner: Learner { seed: facts.seed, ema: facts.ema },
        }
    }
}

impl From<ModelComparison> for Both {
    fn from(pair: ModelComparison) -> Self {
        Self { model: pair.model.into(), base: pair.base.into() }
    }
}

impl From<PredictionMetrics> for Numbers {
    fn from(metrics: PredictionMetrics) -> Self {
        let PredictionMetrics { count, rmse, plcc, srocc } = metrics;
        Self { count, rmse: (count > 0).then_some(rmse), plcc, srocc }
    }
}
