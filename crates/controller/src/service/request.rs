//! Requests to the service, as plain values.
//!
//! The protocol layers convert the spellings of enums. The service checks everything else, in one place, and a refusal
//! names the field as it is called in the gRPC contract.

use std::collections::BTreeMap;
use std::time::Duration;

use vmafx_job::{FailureReason, ScoreResult, ScoringRequest};
use vmafx_queue::AttemptNumber;
use vmafx_queue::job::{Origin, Progress};
use vmafx_queue::transition::State;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmitJob {
    pub scoring: ScoringRequest,
    /// Each step of priority is a head start of a minute before older jobs.
    pub priority: i32,
    /// Empty: none.
    pub idempotency_key: String,
    /// The resource that the job is submitted for.
    pub origin: Option<Origin>,
    /// The job fails after this many lost attempts; `None`: the controller's default.
    pub max_lost_attempts: Option<u32>,
    /// The job fails when it is not finished after this time; 0: no limit.
    pub active_deadline_seconds: u64,
    pub ground_truth: Option<GroundTruth>,
}

/// Changes of a job. `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateJob {
    pub scoring: Option<ScoringRequest>,
    pub priority: Option<i32>,
    pub max_lost_attempts: Option<u32>,
    /// Counts from the submission of the job; 0: no limit.
    pub active_deadline_seconds: Option<u64>,
}

/// The quality that viewers gave the distorted clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundTruth {
    pub value: f64,
    pub scale: LabelScale,
}

/// Unit of a ground truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelScale {
    /// 0 to 100.
    #[default]
    Percent,
    /// Mean opinion score, 1 to 5.
    Mos,
}

/// Selects jobs. Empty parts match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    pub states: Vec<State>,
    /// Compared in every part that is not empty.
    pub origin: Option<Origin>,
    pub job_ids: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListJobs {
    pub filter: JobFilter,
    /// 0: the default size.
    pub page_size: u32,
    /// `JobPage::next` of the previous page; empty: the first page.
    pub page_token: String,
    pub newest_first: bool,
}

/// Names a job, by the controller's id or by the submitter's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRef {
    JobId(String),
    IdempotencyKey(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct LabelJob {
    pub job: JobRef,
    pub ground_truth: GroundTruth,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchJobs {
    pub filter: JobFilter,
    /// The last cursor received; empty: start with a snapshot.
    pub cursor: String,
    /// Also send jobs of which only the progress changed.
    pub include_progress: bool,
    /// Without a cursor, start with a bookmark instead of a snapshot.
    pub changes_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamSamples {
    /// The last cursor that was processed; empty: from the oldest sample.
    pub cursor: String,
    /// Wait for further samples at the end.
    pub follow: bool,
    /// Only samples of nodes that had all of these labels.
    pub node_selector: BTreeMap<String, String>,
}

/// The session of a node, as it was assigned at registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSession {
    pub node_id: String,
    pub token: SessionSecret,
}

/// The secret of a session, as a node sent it; never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionSecret(pub String);

impl std::fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionSecret(…)")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisterNode {
    /// Name of the node process.
    pub name: String,
    pub capability: DeclaredCapability,
    /// The VmafxNode that the process belongs to.
    pub resource: Option<Origin>,
}

/// The capability of a node, as the node declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredCapability {
    pub gpu_vendor: String,
    pub backends: Vec<String>,
    /// Jobs that the node runs at once; 0: not declared.
    pub concurrency: i32,
    pub labels: BTreeMap<String, String>,
    /// Name of the compute device.
    pub device: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    pub session: NodeSession,
    pub running_job_ids: Vec<String>,
    pub progress: Vec<(String, AttemptNumber, Progress)>,
    /// Pulls of which the node will never read a response.
    pub lost_pull_ids: Vec<String>,
    /// The tenants of jobs that are not of the node's own tenant.
    pub job_tenants: BTreeMap<String, String>,
    /// As in [`PullWork`].
    pub serves: Vec<String>,
}

/// A request for one job, sent for a free slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullWork {
    pub session: NodeSession,
    pub backends: Vec<String>,
    /// Slots of the node; 0: not declared.
    pub concurrency: i32,
    /// How long to wait for work.
    pub wait: Duration,
    /// Identifies this call; empty: the node does not identify its pulls.
    pub pull_id: String,
    /// As in [`Heartbeat`].
    pub lost_pull_ids: Vec<String>,
    /// Tenants that the node serves besides its own, as far as they are permitted; `*`: all.
    pub serves: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportResult {
    pub session: NodeSession,
    pub job_id: String,
    /// The tenant of the job; empty: the node's own.
    pub tenant: String,
    /// 0: the attempt that the session holds.
    pub attempt: AttemptNumber,
    /// Whether the attempt is finished. If not, nothing is stored.
    pub is_final: bool,
    /// Score, features and details; ignored when there is an error.
    pub success: ScoreResult,
    /// Not empty: the attempt failed.
    pub error: String,
    pub failure_reason: FailureReason,
}

/// Returns an unfinished attempt to the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseJob {
    pub session: NodeSession,
    pub job_id: String,
    /// As in [`ReportResult`].
    pub tenant: String,
    pub attempt: AttemptNumber,
    pub reason: String,
}
