//! What a finished attempt leaves behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An attempt that has a score. All numbers are finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Success {
    /// The pooled score; 0 is a real one.
    pub score: f64,
    /// Mean of each feature, by lower-case name.
    pub features: BTreeMap<String, f64>,
    /// What else the node told.
    pub details: Option<Details>,
}

/// What a node tells beyond score and features.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// The model really used.
    pub model: String,
    /// Its digest.
    pub model_digest: String,
    /// The backend really used.
    pub backend: String,
    /// Frame pairs scored.
    pub frames: u64,
    /// Width and height of the comparison.
    pub size: Option<(u32, u32)>,
    /// The frames' scores as single numbers.
    pub scores: Option<PooledScores>,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
    /// Where the report was written.
    pub report_uri: String,
}

/// Ways to make one number of the frames' scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PooledScores {
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

/// An attempt, or a whole job, that will have no score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One word.
    pub reason: FailureReason,
    /// For people.
    pub message: String,
}

/// Why a job failed, as its number on the wire: a reason newer than this program is kept as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FailureReason(pub i32);

impl FailureReason {
    /// Not told.
    pub const UNSPECIFIED: Self = Self(0);
    /// Too many attempts ended because their node disappeared.
    pub const NODE_LOST: Self = Self(40);
    /// The job took longer than it may.
    pub const DEADLINE_EXCEEDED: Self = Self(41);
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptOutcome {
    /// With a score.
    Completed,
    /// With an error, or because the job ran out of time.
    Failed,
    /// Given back.
    Released,
    /// Its lease ran out.
    Expired,
    /// The job was cancelled.
    Cancelled,
}

impl AttemptOutcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Completed, Self::Failed, Self::Released, Self::Expired, Self::Cancelled];

    /// The word that is stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome of a stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word)
    }
}
