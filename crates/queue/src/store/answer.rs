//! Results of store operations.

use std::collections::{BTreeMap, BTreeSet};

use super::Cursor;
use crate::clock::Timestamp;
use crate::ids::{JobId, TenantId};
use crate::job::{Job, Labeller};
use crate::node::{Capability, Node};
use crate::quarantine::Quarantine;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    pub id: JobId,
    /// A job with the same idempotency key existed, and nothing was stored.
    pub deduplicated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cancelled {
    /// The job after the call.
    pub job: Job,
    /// Whether this call cancelled the job.
    pub moved: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// The job after the call. If it has finished, the update came too late and changed nothing.
    pub job: Job,
    /// Whether this call changed the job.
    pub changed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labelled {
    NotFound,
    /// Several other submitters used the key.
    Ambiguous,
    /// The job failed or was cancelled, so it will never have features.
    Over,
    Stored {
        id: JobId,
        /// Whether the job is completed, so that the sample was added to the feed.
        sampled: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    NoSession,
    /// No matching job can be claimed now.
    Nothing {
        /// End of the earliest back-off of a matching job.
        next: Option<Timestamp>,
    },
    /// Matching jobs can be claimed now, but are kept from this node because it failed them.
    PassedOver {
        /// When this node can claim one of them, or a back-off ends.
        next: Timestamp,
    },
    /// The node is quarantined.
    Quarantined {
        /// When the node may claim a job on trial.
        until: Timestamp,
    },
    /// The session holds as many jobs as its node registered slots.
    NoFreeSlot,
    /// The tenant runs as many jobs as it may.
    LimitReached,
    /// The claimed job, now running.
    Job(Box<Job>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reported {
    NoSession,
    /// The attempt does not belong to this session, or its lease was taken away.
    Fenced,
    /// The report was stored before, or the job is cancelled.
    Repeated,
    /// The report ended the attempt: the job is final, or pending again.
    Moved {
        /// The job after the report.
        job: Box<Job>,
        /// Whether the job had a label and became a sample.
        sampled: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    NoSession,
    /// The attempt has already ended, or does not belong to this session.
    Over,
    /// The job is pending again.
    Moved,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// The gap since the last sweep was too long: every lease and session was renewed, and nothing was ended.
    pub renewed: bool,
    /// Jobs that are pending again because their lease expired.
    pub requeued: Vec<Job>,
    /// Jobs that failed because they lost too many attempts or missed their deadline.
    pub failed: Vec<Job>,
    /// Tenant and node name of each expired session.
    pub evicted: Vec<(TenantId, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// Each changed job once, with the cursor that continues after it.
    pub jobs: Vec<(Cursor, Job)>,
    /// Continues after everything that this call examined.
    pub next: Cursor,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Each sample with the cursor that continues after it.
    pub samples: Vec<(Cursor, Sample)>,
    /// Continues after everything that this call examined.
    pub next: Cursor,
}

/// A completed job with a label.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub job: JobId,
    pub features: BTreeMap<String, f64>,
    /// Between 0 and 100.
    pub label: f64,
    /// Who gave the label.
    pub labelled_by: Labeller,
    /// Labels of the node that scored the job, as they were during the attempt.
    pub node_labels: BTreeMap<String, String>,
}

/// Why a pending job waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    pub job: Job,
    /// Pending jobs of higher priority that compete for the same nodes and are not in back-off.
    pub ahead_by_priority: u64,
    /// Pending jobs of equal priority that are older, compete for the same nodes and are not in back-off.
    pub ahead_by_age: u64,
    /// By backend of the tenant's connected nodes; the empty name counts every node once.
    pub supply: BTreeMap<String, Supply>,
    /// Connected nodes that are quarantined, with their backends.
    pub quarantined: Vec<QuarantinedNode>,
    /// Jobs of the tenant that are running.
    pub running: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct QuarantinedNode {
    pub name: String,
    pub backends: Vec<String>,
    /// Slots that would be free without the quarantine.
    pub free_slots: u32,
    pub quarantine: Quarantine,
}

impl QuarantinedNode {
    /// The quarantined ones among these nodes.
    pub(crate) fn among(nodes: &[Node]) -> Vec<Self> {
        let quarantined = nodes.iter().filter_map(|node| {
            Some(Self {
                name: node.name.clone(),
                backends: node.capability.backends.clone(),
                free_slots: node.capability.slots.saturating_sub(node.jobs),
                quarantine: node.quarantine.clone()?,
            })
        });
        quarantined.collect()
    }
}

/// Nodes that serve one backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    pub nodes: u32,
    /// Number of jobs that the nodes can run at once.
    pub slots: u32,
    /// Number of jobs that the nodes run now.
    pub busy: u32,
}

impl Supply {
    /// The capacity by backend of nodes with their running jobs; the empty name counts each node once.
    pub(crate) fn by_backend<'a>(
        nodes: impl IntoIterator<Item = (&'a Capability, u32)>,
    ) -> BTreeMap<String, Self> {
        let mut supply = BTreeMap::<String, Self>::new();
        for (capability, jobs) in nodes {
            let named = capability.backends.iter().map(String::as_str);
            for backend in named.chain([""]).collect::<BTreeSet<_>>() {
                let of_backend = supply.entry(backend.to_owned()).or_default();
                of_backend.nodes += 1;
                of_backend.slots = of_backend.slots.saturating_add(capability.slots);
                of_backend.busy += jobs;
            }
        }
        supply
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub jobs: u64,
    pub samples: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TenantStats {
    pub tenant: TenantId,
    /// Includes jobs in back-off.
    pub pending: u64,
    pub running: u64,
    /// Creation time of the oldest pending job.
    pub oldest_pending: Option<Timestamp>,
    pub nodes: u64,
    /// Connected nodes that are quarantined.
    pub quarantined: u64,
    /// As counted against [`vmafx_job::TenantLimits::stored_bytes`].
    pub stored_bytes: u64,
}
