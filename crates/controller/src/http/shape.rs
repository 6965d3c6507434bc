//! The JSON types of the HTTP API. Fields that the custom resources have too have the same names.

mod job;
mod label;
mod node;
mod query;
mod scoring;
mod session;
mod time;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::job::{
    Attempt, AttemptList, BackendSupply, Explanation, FailedAttempt, Job, JobList, JobResult, Origin,
    Progress, Status,
};
pub use self::label::{LabelJob, LabelScale};
pub use self::node::{Node, NodeList, Quarantine};
pub use self::query::{EventsQuery, ListQuery, NoQuery, Order};
pub use self::scoring::{Scoring, Size};
pub use self::session::{Session, SessionCaller, SignIn};
pub use self::time::rfc3339;

/// Texts that programs read have no control characters.
const PRINTABLE: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// A job to submit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubmitJob {
    /// The clips to compare, and how.
    pub scoring: Scoring,
    /// Each step of priority is a head start of a minute before older jobs.
    #[serde(default)]
    pub priority: i32,
    /// A unique key of your choice. A second submission with the same key stores nothing and returns the first job.
    #[serde(default)]
    #[schemars(length(max = 256), regex(pattern = PRINTABLE))]
    pub idempotency_key: String,
    /// The Kubernetes resource that the job is submitted for.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// The job fails after this many attempts that were lost with their node, or failed through no fault of the job.
    #[serde(default)]
    #[schemars(range(min = 1, max = 101))]
    pub max_lost_attempts: Option<u32>,
    /// The job fails when it is not finished after this many seconds; 0: no limit.
    #[serde(default)]
    #[schemars(range(max = 3_153_600_000_u64))]
    pub active_deadline_seconds: u64,
    /// The quality that viewers gave the distorted clip, if it is known.
    #[serde(default)]
    pub ground_truth: Option<LabelJob>,
}

impl From<SubmitJob> for crate::service::request::SubmitJob {
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

/// The job of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Submitted {
    /// Id of the job.
    pub id: Uuid,
    /// Whether this is the job of an earlier submission with the same idempotency key.
    pub deduplicated: bool,
}

/// Changes of a job. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateJob {
    /// The whole scoring, used from the next attempt on. Clips, model and backend must be those of the job.
    #[serde(default)]
    pub scoring: Option<Scoring>,
    /// Each step of priority is a head start of a minute before older jobs.
    #[serde(default)]
    pub priority: Option<i32>,
    /// The job fails after this many attempts that were lost with their node.
    #[serde(default)]
    #[schemars(range(min = 1, max = 101))]
    pub max_lost_attempts: Option<u32>,
    /// The job fails when it is not finished this many seconds after its submission; 0: no limit.
    #[serde(default)]
    #[schemars(range(max = 3_153_600_000_u64))]
    pub active_deadline_seconds: Option<u64>,
}

impl From<UpdateJob> for crate::service::request::UpdateJob {
    fn from(update: UpdateJob) -> Self {
        Self {
            scoring: update.scoring.map(|scoring| scoring.0),
            priority: update.priority,
            max_lost_attempts: update.max_lost_attempts,
            active_deadline_seconds: update.active_deadline_seconds,
        }
    }
}

/// Details of a cancellation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelJob {
    /// Why the job is cancelled; it becomes part of the error of the job.
    #[serde(default)]
    pub reason: String,
}

/// A label that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Labelled {
    /// Id of the job.
    pub id: Uuid,
    /// Whether the sample is in the stream already; otherwise it is added when the job completes.
    pub sampled: bool,
}

/// Two clips to score while the caller waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScoreRequest {
    /// URI or path of the reference clip.
    #[schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE), example = "/clips/reference.y4m")]
    pub reference: String,
    /// URI or path of the distorted clip.
    #[schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE), example = "/clips/distorted.y4m")]
    pub distorted: String,
    /// Name of the model. Left out: the default of the node.
    #[serde(default)]
    #[schemars(length(max = 1024), regex(pattern = PRINTABLE))]
    pub model: String,
}

/// The score of two clips.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// The pooled score.
    pub score: f64,
    /// Mean of each feature.
    pub features: BTreeMap<String, f64>,
}
