//! The scores of a session, frame by frame.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outcome::ConfidenceInterval;

/// Scores of one distorted clip, or of a chunk of it. All lists are parallel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameScores {
    /// The number of each scored pair.
    pub frames: Vec<u64>,
    /// In the order of the setup.
    pub models: Vec<ModelSeries>,
    /// By the name in libvmaf's logs.
    pub features: BTreeMap<String, Vec<f64>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelSeries {
    pub scores: Vec<f64>,
    /// The 95 % confidence intervals, for bootstrap models.
    pub intervals: Option<Vec<ConfidenceInterval>>,
}
