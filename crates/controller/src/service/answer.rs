//! What the service answers, where the queue's own types do not say it already.

use std::time::Duration;

use vmafx_queue::clock::Timestamp;
use vmafx_queue::node::Credentials;
use vmafx_queue::store::{Cursor, Sample, Supply};
use vmafx_queue::{Job, JobId};

/// A page of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Asks for the next page; empty: there is none.
    pub next: String,
}

/// A label that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// The job.
    pub job: JobId,
    /// It has features, and the sample is in the stream.
    pub sampled: bool,
}

/// A session that was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    /// Its name and secret.
    pub credentials: Credentials,
    /// For how long a job is kept without a heartbeat.
    pub lease_ttl: Duration,
    /// For how long the session is kept without one.
    pub session_ttl: Duration,
}

/// The answer to a heartbeat of a live session. Ids stand as the node wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Named jobs that were cancelled.
    pub cancelled: Vec<String>,
    /// Named jobs that the session does not hold.
    pub lost: Vec<String>,
}

/// A job for a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The job, running.
    pub job: Job,
    /// Where its tenant's clips may lie.
    pub scoring_roots: Vec<String>,
}

/// An item of a live look at jobs.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A job of the snapshot at the beginning. There is no resuming from the middle of a snapshot.
    Snapshot(Job),
    /// A job as it is now, and where to resume after it.
    Job(Cursor, Job),
    /// Everything up to here was sent.
    Bookmark(Cursor),
}

/// An item of a reading of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleItem {
    /// Continues after it.
    pub cursor: Cursor,
    /// `None`: nothing new up to the cursor.
    pub sample: Option<Sample>,
}

/// Why a job waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The one thing that has to change first.
    pub reason: WaitReason,
    /// The whole answer, for people.
    pub message: String,
    /// Waiting jobs of higher priority that compete for the same nodes.
    pub ahead_by_priority: u64,
    /// The same of equal priority, older.
    pub ahead_by_age: u64,
    /// Every connected backend, by name.
    pub backends: Vec<(String, Supply)>,
    /// The earliest instant at which it can be handed out, if that is not now.
    pub next_eligible_at: Option<Timestamp>,
}

/// What a waiting job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// It does not wait.
    None,
    /// No node is connected.
    NoNode,
    /// No node serves its backend.
    NoBackend,
    /// It pauses after a lost attempt.
    BackingOff,
    /// Slots are taken, or others are first.
    Busy,
    /// The next pull takes it.
    Ready,
}

impl WaitReason {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::NoNode => "NoNode",
            Self::NoBackend => "NoBackend",
            Self::BackingOff => "BackingOff",
            Self::Busy => "Busy",
            Self::Ready => "Ready",
        }
    }
}
