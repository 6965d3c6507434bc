//! What is answered.

use std::collections::BTreeMap;

use super::Cursor;
use crate::clock::Timestamp;
use crate::ids::{JobId, TenantId};
use crate::job::Job;

/// A submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The job.
    pub id: JobId,
    /// It was there before, and nothing was stored.
    pub deduplicated: bool,
}

/// A cancel of a job that exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Cancelled {
    /// The job afterwards.
    pub job: Job,
    /// Whether this call ended it.
    pub moved: bool,
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labelled {
    /// There is no such job.
    NotFound,
    /// The job failed or was cancelled, so it will never have features.
    Over,
    /// Stored.
    Stored {
        /// The job.
        id: JobId,
        /// It has features, and the sample is in the stream.
        sampled: bool,
    },
}

/// A pull.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// There is no such session.
    NoSession,
    /// Nothing fits now; the next pause of a job that would fit ends then.
    Nothing {
        /// When, if any pauses.
        next: Option<Timestamp>,
    },
    /// The job, running.
    Job(Box<Job>),
}

/// A report.
#[derive(Clone, Debug, PartialEq)]
pub enum Reported {
    /// There is no such session.
    NoSession,
    /// The attempt is not this session's, or was taken from it.
    Fenced,
    /// It was stored before, or the job is cancelled.
    Repeated,
    /// It ended the job, which is this now. `sampled`: it had a label and is a sample now.
    Moved {
        /// The job afterwards.
        job: Box<Job>,
        /// Whether a sample came of it.
        sampled: bool,
    },
}

/// A release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// There is no such session.
    NoSession,
    /// The attempt is over already, or is not this session's.
    Over,
    /// The job waits again.
    Moved,
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// It was away: every lease and session has its full time again, and nothing was ended.
    pub forgiven: bool,
    /// Jobs that wait again because their node was lost.
    pub requeued: Vec<Job>,
    /// Jobs that failed: lost too often, or out of time.
    pub failed: Vec<Job>,
    /// Sessions that ended: whose, and the node's name.
    pub evicted: Vec<(TenantId, String)>,
}

/// Jobs that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// Each once, with the cursor that continues after it.
    pub jobs: Vec<(Cursor, Job)>,
    /// Continues after all that was looked at.
    pub next: Cursor,
}

/// Samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Each with the cursor that continues after it.
    pub samples: Vec<(Cursor, Sample)>,
    /// Continues after all that was looked at.
    pub next: Cursor,
}

/// A completed job with a label.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The job.
    pub job: JobId,
    /// Its features.
    pub features: BTreeMap<String, f64>,
    /// 0 to 100.
    pub label: f64,
    /// Labels of the node that scored it, as they were then.
    pub node_labels: BTreeMap<String, String>,
}

/// What a waiting job waits for, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The job.
    pub job: Job,
    /// Waiting jobs of higher priority that compete for the same nodes and are not pausing.
    pub ahead_by_priority: u64,
    /// The same of equal priority, older.
    pub ahead_by_age: u64,
    /// Every connected backend of the tenant, by name; the empty name counts all nodes, each once.
    pub supply: BTreeMap<String, Supply>,
}

/// Nodes of one backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    /// Connected.
    pub nodes: u32,
    /// Jobs they can run.
    pub slots: u32,
    /// Jobs they run.
    pub busy: u32,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Jobs.
    pub jobs: u64,
    /// Samples.
    pub samples: u64,
}

/// Numbers of one tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantStats {
    /// Whose.
    pub tenant: TenantId,
    /// Waiting, pausing ones included.
    pub pending: u64,
    /// Running.
    pub running: u64,
    /// Creation of the oldest waiting job.
    pub oldest_pending: Option<Timestamp>,
    /// Live nodes.
    pub nodes: u64,
}
