//! Results of the service's operations that are not types of the queue.

use std::time::Duration;

use vmafx_queue::clock::Timestamp;
use vmafx_queue::node::Credentials;
use vmafx_queue::store::{Cursor, Sample, Supply};
use vmafx_queue::{Job, JobId};

#[derive(Clone, Debug, PartialEq)]
pub struct JobPage {
    pub jobs: Vec<Job>,
    /// Page token of the next page; empty after the last page.
    pub next: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredLabel {
    pub job: JobId,
    /// Whether the job has features, so that its sample is in the stream.
    pub sampled: bool,
}

/// A session that was opened for a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    pub credentials: Credentials,
    /// How long a job stays assigned without a heartbeat.
    pub lease_ttl: Duration,
    /// How long the session lives without a heartbeat.
    pub session_ttl: Duration,
}

/// The response to a heartbeat of a live session. Job ids are spelled as the node sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatReply {
    /// Running jobs that were cancelled.
    pub cancelled: Vec<String>,
    /// Running jobs that the session does not hold any more.
    pub lost: Vec<String>,
}

/// A running job for the node that claimed it.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignedJob {
    pub job: Job,
    /// The scoring roots of the tenant.
    pub scoring_roots: Vec<String>,
    /// Those of its reports, if they are not the scoring roots.
    pub report_roots: Vec<String>,
    /// Whether the job is of another tenant than its node.
    pub is_guest: bool,
}

/// An item of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum JobChange {
    /// A job of the initial snapshot. It has no cursor, because a watch cannot resume in the middle of a snapshot.
    Snapshot(Job),
    /// The current state of a job, with the cursor that resumes after it.
    Job(Cursor, Job),
    /// Every change up to this cursor was sent.
    Bookmark(Cursor),
}

/// An item of a sample stream.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleItem {
    /// Resumes after this item.
    pub cursor: Cursor,
    /// `None`: there is nothing new up to the cursor.
    pub sample: Option<Sample>,
}

/// Why a job waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitExplanation {
    /// The one thing that has to change first.
    pub reason: WaitReason,
    /// The explanation in sentences, with numbers.
    pub message: String,
    /// Waiting jobs of higher priority that compete for the same nodes.
    pub ahead_by_priority: u64,
    /// Older waiting jobs of equal priority that compete for the same nodes.
    pub ahead_by_age: u64,
    /// Every connected backend, by name.
    pub backends: Vec<(String, Supply)>,
    /// The earliest instant at which the job can be assigned, if that is in the future.
    pub next_eligible_at: Option<Timestamp>,
}

/// What a waiting job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The job is running or finished.
    None,
    /// No node is connected.
    NoNode,
    /// No connected node serves the backend of the job.
    NoBackend,
    /// The job backs off after an attempt that was lost or failed.
    BackingOff,
    /// Every fitting slot is taken, or other jobs come first.
    Busy,
    /// The next pull takes the job.
    Ready,
    /// Every node that fits is quarantined.
    Quarantined,
    /// The tenant runs as many jobs as it may.
    TenantLimit,
}

impl WaitReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::NoNode => "NoNode",
            Self::NoBackend => "NoBackend",
            Self::BackingOff => "BackingOff",
            Self::Busy => "Busy",
            Self::Ready => "Ready",
            Self::Quarantined => "Quarantined",
            Self::TenantLimit => "TenantLimit",
        }
    }
}
