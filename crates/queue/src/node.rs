//! Nodes, their sessions and what they say.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, JobId, SessionId};
use crate::job::{Origin, Progress};
use vmafx_job::{FailureReason, ScoreResult};

/// What a node says when it registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewNode {
    /// Name of the process.
    pub name: String,
    /// What it can do.
    pub capability: Capability,
    /// The VmafxNode it belongs to.
    pub resource: Option<Origin>,
}

/// What a node can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capability {
    /// Vendor of its device.
    pub vendor: String,
    /// Backends it serves. One that names none gets only jobs that ask for none.
    pub backends: Vec<String>,
    /// Jobs it runs at once.
    pub slots: u32,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its device.
    pub device: String,
}

/// A session as the node gets to know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Credentials {
    /// Its name.
    pub session: SessionId,
    /// Its secret.
    pub token: SessionToken,
}

/// The secret of a session. Stores keep only its SHA-256.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken(pub String);

impl SessionToken {
    /// What is stored.
    pub fn digest(&self) -> [u8; 32] {
        use sha2::Digest as _;
        sha2::Sha256::digest(self.0.as_bytes()).into()
    }
}

impl fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionToken(…)")
    }
}

/// A live node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its session.
    pub session: SessionId,
    /// Name of the process.
    pub name: String,
    /// What it can do.
    pub capability: Capability,
    /// The VmafxNode it belongs to.
    pub resource: Option<Origin>,
    /// Since when.
    pub registered_at: Timestamp,
    /// Last heartbeat.
    pub last_seen_at: Timestamp,
    /// Jobs it holds, by the queue's count.
    pub jobs: u32,
}

/// A heartbeat. Ids that are no ids are left out by the caller, who answers them as lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beat {
    /// Jobs the node works on, at most [`crate::policy::MOST_BEATS`].
    pub running: Vec<JobId>,
    /// How far they are.
    pub progress: Vec<(JobId, AttemptNumber, Progress)>,
}

/// The answer to a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Named jobs that were cancelled, in the order given.
    pub cancelled: Vec<JobId>,
    /// Named jobs this session does not hold any more, or never did, in the order given.
    pub lost: Vec<JobId>,
}

/// The end of an attempt, as its node tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The job.
    pub job: JobId,
    /// The attempt; `None`: the one this session holds, or held last.
    pub attempt: Option<AttemptNumber>,
    /// A score, or why there is none.
    pub result: Result<ScoreResult, (FailureReason, String)>,
}
