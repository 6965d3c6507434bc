//! What a session found, frame by frame.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outcome::Interval;

/// Scores of one distorted clip, or of a chunk of it. All lists are parallel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The number of each scored pair.
    pub frames: Vec<u64>,
    /// The models, in the order of the setup.
    pub models: Vec<ModelSeries>,
    /// Features, by libvmaf's name for them.
    pub features: BTreeMap<String, Vec<f64>>,
}

/// What one model says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelSeries {
    /// The scores.
    pub scores: Vec<f64>,
    /// The 95 % confidence intervals, for models that carry one.
    pub intervals: Option<Vec<Interval>>,
}
