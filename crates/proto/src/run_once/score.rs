//! A score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A comparison that has a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// The pooled score: the mean.
    pub score: f64,
    /// Mean of each feature, by lower-case name.
    pub features: BTreeMap<String, f64>,
    /// The model really used.
    pub model: String,
    /// `sha256:…`.
    pub model_digest: String,
    /// Frame pairs scored.
    pub frames: u64,
    /// Width and height of the comparison.
    pub size: (u32, u32),
    /// The frames' scores as single numbers.
    pub pooled: Pooled,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// Ways to make one number of the frames' scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pooled {
    pub mean: f64,
    pub harmonic_mean: f64,
    pub min: f64,
    pub max: f64,
    pub stddev: f64,
    pub p1: f64,
    pub p5: f64,
    pub p10: f64,
    pub p50: f64,
}
