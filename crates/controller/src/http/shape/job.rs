//! Jobs, attempts and why they wait.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use vmafx_job::{FrameSize, PooledScores, ScoreDetails};
use vmafx_queue as queue;
use vmafx_queue::transition::State;

use super::PRINTABLE;
use super::scoring::{Scoring, Size};
use super::time::rfc3339;
use crate::service::answer;

/// A page of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Asks for the next page; empty: there is none.
    pub next_page_token: String,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Its id.
    pub id: Uuid,
    /// Where it stands: pending, running, completed, failed or cancelled.
    pub status: Status,
    /// What to score.
    pub scoring: Scoring,
    /// Higher is handed out first.
    pub priority: i32,
    /// The submitter's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The resource that wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The node that holds it, or held it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How often it was handed out.
    pub attempt: u32,
    /// How many attempts were lost with their node.
    pub lost_attempts: u32,
    /// The number that makes it fail.
    pub max_lost_attempts: u32,
    /// How far the running attempt is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The pooled score, when completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Mean of each feature, when completed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub features: BTreeMap<String, f64>,
    /// What else the node told, when completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Result>,
    /// Why it failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// One word for it, when failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// What viewers said, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ground_truth: Option<f64>,
    /// When it was submitted.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When the latest attempt was handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Not handed out before, after a lost attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_at: Option<String>,
    /// When the running attempt is given up unless its node is heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<String>,
    /// When it fails if it is not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Rises with every change but progress.
    pub revision: u64,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl From<State> for Status {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Running => Self::Running,
            State::Completed => Self::Completed,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }
}

/// A Kubernetes resource, in any cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Origin {
    /// Name of the cluster.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub cluster: String,
    /// Its namespace.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub name: String,
    /// Its UID.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub uid: String,
}

impl From<Origin> for queue::job::Origin {
    fn from(Origin { cluster, namespace, name, uid }: Origin) -> Self {
        Self { cluster, namespace, name, uid }
    }
}

impl From<queue::job::Origin> for Origin {
    fn from(queue::job::Origin { cluster, namespace, name, uid }: queue::job::Origin) -> Self {
        Self { cluster, namespace, name, uid }
    }
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Frame pairs scored.
    pub frames_done: u64,
    /// 0: not known.
    pub frames_total: u64,
}

/// What a completed job tells beyond score and features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Result {
    /// The model really used.
    pub model: String,
    /// Its digest.
    pub model_digest: String,
    /// The backend really used.
    pub backend: String,
    /// Frame pairs scored.
    pub frames: u64,
    /// The size of the comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The frames' scores as single numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<PooledScores>,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
    /// Where the per-frame report is.
    #[serde(rename = "reportURI", skip_serializing_if = "String::is_empty", default)]
    pub report_uri: String,
}

impl From<&queue::Job> for Job {
    fn from(job: &queue::Job) -> Self {
        let success = job.result.as_ref();
        Self {
            id: job.id.0,
            status: job.state.into(),
            scoring: Scoring(job.scoring.clone()),
            priority: job.priority,
            idempotency_key: job.key.as_ref().map(ToString::to_string),
            origin: job.origin.clone().map(Into::into),
            node: job.node.clone(),
            attempt: job.attempt,
            lost_attempts: job.lost_attempts,
            max_lost_attempts: job.max_lost_attempts,
            progress: job.progress.map(|at| Progress { frames_done: at.done, frames_total: at.total }),
            score: success.map(|success| success.score),
            features: success.map(|success| success.features.clone()).unwrap_or_default(),
            result: success.and_then(|success| success.details.as_ref()).map(Into::into),
            error: (!job.error.is_empty()).then(|| job.error.clone()),
            failure_reason: (job.state == State::Failed).then(|| job.failure_reason.name().to_owned()),
            ground_truth: job.label.map(queue::job::Label::value),
            created_at: rfc3339(job.created_at),
            updated_at: rfc3339(job.updated_at),
            started_at: job.started_at.map(rfc3339),
            finished_at: job.finished_at.map(rfc3339),
            available_at: job.available_at.map(rfc3339),
            lease_expires_at: job.lease_expires_at.map(rfc3339),
            deadline_at: job.deadline_at.map(rfc3339),
            revision: job.revision,
        }
    }
}

impl From<&ScoreDetails> for Result {
    fn from(details: &ScoreDetails) -> Self {
        Self {
            model: details.model.clone(),
            model_digest: details.model_digest.clone(),
            backend: details.backend.clone(),
            frames: details.frames,
            size: details.size.map(|FrameSize { width, height }| Size { width, height }),
            scores: details.scores,
            warnings: details.warnings.clone(),
            report_uri: details.report_uri.clone(),
        }
    }
}

/// The attempts of a job, first to last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptList {
    /// The attempts.
    pub attempts: Vec<Attempt>,
}

/// One handing-out of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// The node that held it.
    pub node: String,
    /// From when.
    pub started_at: String,
    /// Until when; left out while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How it ended: completed, failed, released, expired or cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What was said at its end.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub error: String,
}

impl From<queue::job::Attempt> for Attempt {
    fn from(attempt: queue::job::Attempt) -> Self {
        Self {
            number: attempt.number,
            node: attempt.node,
            started_at: rfc3339(attempt.started_at),
            ended_at: attempt.ended.map(|(at, _)| rfc3339(at)),
            outcome: attempt.ended.map(|(_, outcome)| outcome.name().to_owned()),
            error: attempt.error,
        }
    }
}

/// Why a job waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `NoNode`, `NoBackend`, `BackingOff`, `Busy`, `Ready`; `None` when it does not wait.
    pub reason: String,
    /// The whole answer, for people.
    pub message: String,
    /// Waiting jobs of higher priority that compete for the same nodes.
    pub ahead_by_priority: u64,
    /// The same of equal priority, older.
    pub ahead_by_age: u64,
    /// Every connected backend.
    pub backends: Vec<BackendSupply>,
    /// The earliest instant at which it can be handed out, if that is not now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_eligible_at: Option<String>,
}

/// Nodes of one backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendSupply {
    /// Its name.
    pub backend: String,
    /// Connected nodes that serve it.
    pub nodes: u32,
    /// Jobs they can run.
    pub slots: u32,
    /// Jobs they run.
    pub busy: u32,
}

impl From<answer::Explanation> for Explanation {
    fn from(why: answer::Explanation) -> Self {
        let supply = |(backend, supply): (String, queue::store::Supply)| BackendSupply {
            backend,
            nodes: supply.nodes,
            slots: supply.slots,
            busy: supply.busy,
        };
        Self {
            reason: why.reason.word().to_owned(),
            message: why.message,
            ahead_by_priority: why.ahead_by_priority,
            ahead_by_age: why.ahead_by_age,
            backends: why.backends.into_iter().map(supply).collect(),
            next_eligible_at: why.next_eligible_at.map(rfc3339),
        }
    }
}
