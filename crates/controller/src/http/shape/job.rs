//! Jobs, attempts and explanations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use vmafx_job::{Confinement, FailureReason, FrameSize, PooledScores, ScoreDetails};
use vmafx_queue as queue;
use vmafx_queue::transition::State;

use super::PRINTABLE;
use super::scoring::{Scoring, Size};
use super::time::rfc3339;
use crate::service::response;

/// A page of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobList {
    /// The jobs of this page.
    pub jobs: Vec<Job>,
    /// `pageToken` of the next page; empty on the last page.
    pub next_page_token: String,
}

/// A job and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Id of the job.
    pub id: Uuid,
    /// State of the job: pending, running, completed, failed or cancelled.
    pub status: Status,
    /// The clips to compare, and how.
    pub scoring: Scoring,
    /// The scoring of the next attempt, if the job was changed while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_scoring: Option<Scoring>,
    /// Each step of priority is a head start of a minute before older jobs.
    pub priority: i32,
    /// The idempotency key of the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The Kubernetes resource that the job was submitted for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The node of the latest attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Number of the latest attempt; 0: none yet.
    pub attempt: u32,
    /// Attempts that were lost with their node, or failed through no fault of the job.
    pub lost_attempts: u32,
    /// The job fails when `lostAttempts` reaches this number.
    pub max_lost_attempts: u32,
    /// Progress of the running attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The pooled score of a completed job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Mean of each feature of a completed job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub features: BTreeMap<String, f64>,
    /// Details of the result of a completed job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<JobResult>,
    /// Why the job failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The reason of a failed job, as one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// The quality that viewers gave the distorted clip, from 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ground_truth: Option<f64>,
    /// When the job was submitted.
    pub created_at: String,
    /// When the job last changed.
    pub updated_at: String,
    /// When the latest attempt started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When the job completed, failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// End of the back-off after a lost or failed attempt; the job is not assigned before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_at: Option<String>,
    /// When the lease of the running attempt expires unless its node sends a heartbeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<String>,
    /// When the job fails if it is not finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Increases with every change of the job except its progress.
    pub revision: u64,
    /// The last attempt that failed or was lost and after which the job was requeued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailedAttempt>,
}

/// An attempt after which its job was requeued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedAttempt {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Name of the node.
    pub node: String,
    /// Why the attempt failed, as one word.
    pub reason: String,
    /// What went wrong.
    pub message: String,
}

/// State of a job.
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
    /// Name of the cluster, as its operator is configured.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub cluster: String,
    /// Namespace of the resource.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub namespace: String,
    /// Name of the resource.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub name: String,
    /// UID of the resource.
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

/// Progress of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Frame pairs scored.
    pub frames_done: u64,
    /// Frame pairs in total; 0: unknown.
    pub frames_total: u64,
}

/// Details of the result of a completed job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Result")]
pub struct JobResult {
    /// The model that was used.
    pub model: String,
    /// Digest of the model file.
    pub model_digest: String,
    /// The backend that was used.
    pub backend: String,
    /// What computed the features: `libvmaf`, or `native-` and the instruction set.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub engine: String,
    /// Frame pairs scored.
    pub frames: u64,
    /// The size at which the frames were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The scores of the frames, pooled in several ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<PooledScores>,
    /// Warnings about the score.
    pub warnings: Vec<String>,
    /// URI of the per-frame report.
    #[serde(rename = "reportURI", skip_serializing_if = "String::is_empty", default)]
    pub report_uri: String,
    /// What confined the process that scored; absent if the node did not record it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
}

impl From<&queue::Job> for Job {
    fn from(job: &queue::Job) -> Self {
        let success = job.result.as_ref();
        Self {
            id: job.id.0,
            status: job.state.into(),
            scoring: Scoring(job.scoring.clone()),
            next_scoring: job.next_scoring.clone().map(Scoring),
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
            last_failure: job.last_failure.as_ref().map(|failure| FailedAttempt {
                attempt: failure.attempt,
                node: failure.node.clone(),
                reason: failure.reason.name().to_owned(),
                message: failure.message.clone(),
            }),
        }
    }
}

impl From<&ScoreDetails> for JobResult {
    fn from(details: &ScoreDetails) -> Self {
        Self {
            model: details.model.clone(),
            model_digest: details.model_digest.clone(),
            backend: details.backend.clone(),
            engine: details.engine.clone(),
            frames: details.frames,
            size: details.size.map(|FrameSize { width, height }| Size { width, height }),
            scores: details.scores,
            warnings: details.warnings.clone(),
            report_uri: details.report_uri.clone(),
            confinement: details.confinement,
        }
    }
}

/// The attempts of a job, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptList {
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

/// One assignment of a job to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Number of the attempt, from 1.
    pub number: u32,
    /// Name of the node.
    pub node: String,
    /// When the attempt started.
    pub started_at: String,
    /// When the attempt ended; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How the attempt ended: completed, failed, released, expired or cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why the attempt ended without a score.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub error: String,
    /// The reason of an attempt that failed or was lost, as one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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
            reason: (attempt.reason != FailureReason::Unspecified).then(|| attempt.reason.name().to_owned()),
        }
    }
}

/// Why a job waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `NoNode`, `NoBackend`, `Quarantined`, `BackingOff`, `Busy` or `Ready`; `None` when the job does not wait.
    pub reason: String,
    /// The explanation in sentences, with numbers.
    pub message: String,
    /// Waiting jobs of higher priority that compete for the same nodes.
    pub ahead_by_priority: u64,
    /// Older waiting jobs of equal priority that compete for the same nodes.
    pub ahead_by_age: u64,
    /// Every connected backend.
    pub backends: Vec<BackendSupply>,
    /// The earliest instant at which the job can be assigned, if that is in the future.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_eligible_at: Option<String>,
}

/// Capacity of the nodes that serve one backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendSupply {
    /// Name of the backend.
    pub backend: String,
    /// Connected nodes that serve the backend.
    pub nodes: u32,
    /// Jobs that these nodes can run at once.
    pub slots: u32,
    /// Jobs that these nodes are running.
    pub busy: u32,
}

impl From<response::WaitExplanation> for Explanation {
    fn from(explanation: response::WaitExplanation) -> Self {
        let supply = |(backend, supply): (String, queue::store::Supply)| BackendSupply {
            backend,
            nodes: supply.nodes,
            slots: supply.slots,
            busy: supply.busy,
        };
        Self {
            reason: explanation.reason.as_str().to_owned(),
            message: explanation.message,
            ahead_by_priority: explanation.ahead_by_priority,
            ahead_by_age: explanation.ahead_by_age,
            backends: explanation.backends.into_iter().map(supply).collect(),
            next_eligible_at: explanation.next_eligible_at.map(rfc3339),
        }
    }
}
