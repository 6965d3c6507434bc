//! What is asked of the service, in plain values.
//!
//! Numbers and words of enums are turned into enums by whoever speaks the protocol; everything else is checked by the
//! service, once, and a refusal names the field as it stands on the wire.

use std::collections::BTreeMap;
use std::time::Duration;

use vmafx_job::{FailureReason, ScoreResult, ScoringRequest};
use vmafx_queue::AttemptNumber;
use vmafx_queue::job::{Origin, Progress};
use vmafx_queue::transition::State;

/// A new job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Submit {
    /// What to score.
    pub scoring: ScoringRequest,
    /// Higher goes first.
    pub priority: i32,
    /// The submitter's own name for it; empty: none.
    pub idempotency_key: String,
    /// The resource that wants it.
    pub origin: Option<Origin>,
    /// Lost attempts that end it; `None`: the controller's default.
    pub max_lost_attempts: Option<u32>,
    /// It fails when it is not over after so many seconds; 0: no limit.
    pub active_deadline_seconds: u64,
    /// What viewers said.
    pub ground_truth: Option<GroundTruth>,
}

/// What viewers said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundTruth {
    /// On the scale.
    pub value: f64,
    /// Which scale.
    pub scale: LabelScale,
}

/// Unit of a ground truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelScale {
    /// 0 to 100.
    #[default]
    Percent,
    /// 1 to 5.
    Mos,
}

/// A score that somebody waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// What to score.
    pub scoring: ScoringRequest,
}

/// Which jobs. Empty parts match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// In one of these states.
    pub states: Vec<State>,
    /// Of this origin, in every part that is not empty.
    pub origin: Option<Origin>,
    /// One of these, at most 1000.
    pub job_ids: Vec<String>,
}

/// A page of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Which.
    pub which: Which,
    /// At most so many; 0: 100.
    pub page_size: u32,
    /// `JobPage::next` of the page before; empty: the first page.
    pub page_token: String,
    /// Newest first instead of oldest first.
    pub newest_first: bool,
}

/// A job, by either of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Ours.
    JobId(String),
    /// The submitter's.
    IdempotencyKey(String),
}

/// A label for a job.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelJob {
    /// Which job.
    pub target: Target,
    /// What viewers said.
    pub ground_truth: GroundTruth,
}

/// A live look at jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Which.
    pub which: Which,
    /// The last cursor seen; empty: begin with a snapshot.
    pub cursor: String,
    /// Also when only the progress changed.
    pub include_progress: bool,
    /// Without a cursor, begin with the bookmark instead of a snapshot.
    pub changes_only: bool,
}

/// A reading of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadSamples {
    /// The last cursor dealt with; empty: from the oldest.
    pub cursor: String,
    /// Wait for more at the end.
    pub follow: bool,
    /// Only of nodes that had all of these labels.
    pub node_selector: BTreeMap<String, String>,
}

/// The session that a node speaks for, as it was told at registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub node_id: String,
    /// Its secret.
    pub token: Secret,
}

/// A session's secret, as a node sent it; never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A node that is new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    /// Name of the process.
    pub name: String,
    /// What it can do.
    pub capability: Capability,
    /// The VmafxNode it belongs to.
    pub resource: Option<Origin>,
}

/// What a node can do, as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capability {
    /// Vendor of its device.
    pub gpu_vendor: String,
    /// Backends it serves.
    pub backends: Vec<String>,
    /// Jobs it runs at once; 0: not told.
    pub concurrency: i32,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its device.
    pub device: String,
}

/// A sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// Whose.
    pub session: Session,
    /// Jobs the node works on.
    pub running_job_ids: Vec<String>,
    /// How far they are.
    pub progress: Vec<(String, AttemptNumber, Progress)>,
}

/// A free slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pull {
    /// Whose.
    pub session: Session,
    /// Backends it serves.
    pub backends: Vec<String>,
    /// Slots of the node; 0: not told.
    pub concurrency: i32,
    /// How long to wait for work.
    pub wait: Duration,
}

/// The end of an attempt, or a word in between.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportResult {
    /// Whose.
    pub session: Session,
    /// The job.
    pub job_id: String,
    /// The attempt; 0: the one the session holds.
    pub attempt: AttemptNumber,
    /// Whether the attempt is over. If not, nothing is stored.
    pub is_final: bool,
    /// Score, features and details; ignored when there is an error.
    pub success: ScoreResult,
    /// Not empty: the attempt failed.
    pub error: String,
    pub failure_reason: FailureReason,
}

/// An attempt that is given back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// Whose.
    pub session: Session,
    /// The job.
    pub job_id: String,
    /// The attempt.
    pub attempt: AttemptNumber,
    /// Why.
    pub reason: String,
}
