//! Nodes, their sessions, heartbeats and reports.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, JobId, SessionId, TenantId};
use crate::job::{Origin, Progress};
use crate::quarantine::Quarantine;
use vmafx_job::{FailureReason, ScoreResult};

/// The registration of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewNode {
    pub name: String,
    pub capability: Capability,
    /// The VmafxNode resource that the process belongs to.
    pub resource: Option<NodeResource>,
}

/// The VmafxNode that a process says it belongs to, and who vouches for that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeResource {
    #[serde(flatten)]
    pub origin: Origin,
    /// The ServiceAccount by which the process authenticated. `None` if it has another kind of token, or registered with an
    /// earlier release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<ServiceAccountName>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceAccountName {
    pub namespace: String,
    pub name: String,
}

impl NodeResource {
    /// Whether the status of the VmafxNode may show what the process reports. A Pod speaks only for a resource of its
    /// own namespace, and only for the one that it was created for, not for a later one of the same name.
    pub fn is_vouched_for(&self) -> bool {
        let Self { origin, account } = self;
        account.as_ref().is_none_or(|account| account.namespace == origin.namespace && !origin.uid.is_empty())
    }
}

impl From<Origin> for NodeResource {
    fn from(origin: Origin) -> Self {
        Self { origin, account: None }
    }
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
    /// Whether the session is that of a node of another tenant, which shares its slots.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
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

impl Credentials {
    /// The credentials of the same node process for the jobs of another tenant. Every controller derives the same ones, so
    /// that none has to be stored or handed over, and nobody can derive them without the token.
    #[must_use]
    pub fn for_tenant(&self, tenant: &TenantId) -> Self {
        let derive = |purpose: &str| {
            use sha2::Digest as _;
            let mut hash = sha2::Sha256::new();
            // With their lengths, so that no two tuples have the same input.
            for part in [purpose, &self.session.to_string(), &self.token.0, tenant.as_str()] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
            <[u8; 32]>::from(hash.finalize())
        };
        let [session, first, second] = ["session", "token 1", "token 2"].map(|purpose| {
            let digest = derive(purpose);
            let half: [u8; 16] = std::array::from_fn(|index| digest[index]);
            uuid::Builder::from_random_bytes(half).into_uuid()
        });
        let token = SessionToken(format!("{}{}", first.simple(), second.simple()));
        Self { session: SessionId(session), token }
    }
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
    pub resource: Option<NodeResource>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_for_a_tenant_depend_on_session_token_and_tenant() {
        let of = |session: u128, token: &str, tenant: &str| {
            let own = Credentials {
                session: SessionId(Uuid::from_u128(session)),
                token: SessionToken(token.into()),
            };
            own.for_tenant(&TenantId::new(tenant).unwrap())
        };
        let derived = of(1, "token", "acme");
        assert_eq!(derived, of(1, "token", "acme"));
        for other in
            [of(2, "token", "acme"), of(1, "Token", "acme"), of(1, "token", "acm"), of(1, "tokena", "cme")]
        {
            assert_ne!(derived.session, other.session);
            assert_ne!(derived.token, other.token);
        }
    }
}
