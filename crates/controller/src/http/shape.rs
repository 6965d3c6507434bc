//! What is sent and received, as JSON. Names are those of the custom resources where both have them.

mod job;
mod label;
mod node;
mod query;
mod scoring;
mod time;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::job::{
    Attempt, AttemptList, BackendSupply, Explanation, Job, JobList, Origin, Progress, Result, Status,
};
pub use self::label::{LabelJob, LabelScale};
pub use self::node::{Node, NodeList};
pub use self::query::{EventsQuery, ListQuery, NoQuery, Order};
pub use self::scoring::{Scoring, Size};
pub use self::time::rfc3339;

/// Texts that machines read have no control characters.
const PRINTABLE: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// A new job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubmitJob {
    /// What to score.
    pub scoring: Scoring,
    /// Higher is handed out first.
    #[serde(default)]
    pub priority: i32,
    /// Your own name for it, unique: a second submission with it changes nothing and answers with the first job.
    #[serde(default)]
    #[schemars(length(max = 256), regex(pattern = PRINTABLE))]
    pub idempotency_key: String,
    /// The resource that wants it.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Attempts that may be lost with their node before the job fails.
    #[serde(default)]
    #[schemars(range(min = 1, max = 101))]
    pub max_lost_attempts: Option<u32>,
    /// It fails when it is not over after so many seconds; 0: no limit.
    #[serde(default)]
    #[schemars(range(max = 3_153_600_000_u64))]
    pub active_deadline_seconds: u64,
    /// What viewers said about the distorted clip, if it is known.
    #[serde(default)]
    pub ground_truth: Option<LabelJob>,
}

impl From<SubmitJob> for crate::service::request::Submit {
    fn from(job: SubmitJob) -> Self {
        Self {
            scoring: job.scoring.0,
            priority: job.priority,
            idempotency_key: job.idempotency_key,
            origin: job.origin.map(Into::into),
            max_lost_attempts: job.max_lost_attempts,
            active_deadline_seconds: job.active_deadline_seconds,
            ground_truth: job.ground_truth.map(Into::into),
        }
    }
}

/// A job that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Submitted {
    /// Its id.
    pub id: Uuid,
    /// The key was known, and this is the job of an earlier submission.
    pub deduplicated: bool,
}

/// Why a job is not wanted any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelJob {
    /// For people.
    #[serde(default)]
    pub reason: String,
}

/// A label that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Labelled {
    /// The job.
    pub id: Uuid,
    /// The sample is in the stream; otherwise it will be when the job completes.
    pub sampled: bool,
}

/// Two clips, and a caller who waits for their score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScoreRequest {
    /// Address of the undistorted clip.
    #[schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE), example = "/clips/reference.y4m")]
    pub reference: String,
    /// Address of the clip that is judged.
    #[schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE), example = "/clips/distorted.y4m")]
    pub distorted: String,
    /// Left out: the node's default.
    #[serde(default)]
    #[schemars(length(max = 1024), regex(pattern = PRINTABLE))]
    pub model: String,
}

/// A score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// The pooled score.
    pub score: f64,
    /// Mean of each feature.
    pub features: BTreeMap<String, f64>,
}
