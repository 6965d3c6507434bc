//! Nodes, their sessions, heartbeats and reports.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, JobId, SessionId};
use crate::job::{Origin, Progress};
use crate::quarantine::Quarantine;
use vmafx_job::{FailureReason, ScoreResult};

/// The registration of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewNode {
    pub name: String,
    pub capability: Capability,
    /// The VmafxNode resource that the process belongs to.
    pub resource: Option<Origin>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capability {
    pub vendor: String,
    /// A node without backends gets only jobs that ask for none.
    pub backends: Vec<String>,
    /// Number of jobs that the node runs at once; see [`Capability::max_jobs`].
    pub slots: u32,
    pub labels: BTreeMap<String, String>,
    pub device: String,
}

impl Capability {
    /// The jobs that a session of the node holds at most. A node that declares no slots has one.
    pub fn max_jobs(&self) -> u32 {
        self.slots.max(1)
    }

    /// Every node serves the empty backend.
    pub fn serves(&self, backend: &str) -> bool {
        backend.is_empty() || self.backends.iter().any(|own| own == backend)
    }
}

/// What a node presents with every call of its session.
#[derive(Clone, Debug, PartialEq)]
pub struct Credentials {
    pub session: SessionId,
    pub token: SessionToken,
}

/// The secret of a session. Stores keep only its SHA-256 digest.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken(pub String);

impl SessionToken {
    /// Two random UUIDs: 244 bits that cannot be guessed.
    pub(crate) fn generate() -> Self {
        Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

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

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub session: SessionId,
    pub name: String,
    pub capability: Capability,
    pub resource: Option<Origin>,
    pub registered_at: Timestamp,
    pub last_seen_at: Timestamp,
    /// Number of jobs that the node holds according to the queue, not to the node.
    pub jobs: u32,
    /// Present while the node is quarantined.
    pub quarantine: Option<Quarantine>,
}

/// The caller leaves out ids that are not UUIDs and reports them to the node as lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heartbeat {
    /// Jobs that the node works on, at most [`crate::policy::MAX_HEARTBEAT_JOBS`].
    pub running: Vec<JobId>,
    pub progress: Vec<(JobId, AttemptNumber, Progress)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatReply {
    /// Jobs of the heartbeat that were cancelled, in the order of the heartbeat.
    pub cancelled: Vec<JobId>,
    /// Jobs of the heartbeat that this session does not hold, in the order of the heartbeat.
    pub lost: Vec<JobId>,
}

/// The result of an attempt, reported by its node.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub job: JobId,
    /// `None` means the attempt that this session holds, or held last.
    pub attempt: Option<AttemptNumber>,
    pub result: Result<ScoreResult, (FailureReason, String)>,
}
