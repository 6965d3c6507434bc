//! What one tenant may hold at the same time.

use std::fmt;

/// Limits of a tenant. Each is finite; 0 permits nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantLimits {
    /// Jobs that wait for a node, those in back-off included.
    pub pending_jobs: u64,
    /// Jobs that nodes run.
    pub running_jobs: u64,
    /// Bytes of the requests and results of all jobs that are stored, and [`TenantLimits::JOB_BYTES`] for each.
    pub stored_bytes: u64,
    /// Sessions of nodes.
    pub nodes: u64,
    /// Streams of jobs and samples.
    pub streams: u64,
    /// Streams of one caller.
    pub streams_per_identity: u64,
}

impl TenantLimits {
    /// What a stored job occupies besides its request and its result: its other fields, its attempts, its index entries.
    pub const JOB_BYTES: u64 = 1024;

    /// A million finished jobs of 8 KiB, as many as are kept by default, fit into `stored_bytes`.
    pub const DEFAULT: Self = Self {
        pending_jobs: 200_000,
        running_jobs: 10_000,
        stored_bytes: 8 << 30,
        nodes: 4096,
        streams: 512,
        streams_per_identity: 128,
    };

    pub const fn of(&self, limit: TenantLimit) -> u64 {
        match limit {
            TenantLimit::PendingJobs => self.pending_jobs,
            TenantLimit::RunningJobs => self.running_jobs,
            TenantLimit::StoredBytes => self.stored_bytes,
            TenantLimit::Nodes => self.nodes,
            TenantLimit::Streams => self.streams,
            TenantLimit::StreamsPerIdentity => self.streams_per_identity,
        }
    }

    pub const fn set(&mut self, limit: TenantLimit, value: u64) {
        let field = match limit {
            TenantLimit::PendingJobs => &mut self.pending_jobs,
            TenantLimit::RunningJobs => &mut self.running_jobs,
            TenantLimit::StoredBytes => &mut self.stored_bytes,
            TenantLimit::Nodes => &mut self.nodes,
            TenantLimit::Streams => &mut self.streams,
            TenantLimit::StreamsPerIdentity => &mut self.streams_per_identity,
        };
        *field = value;
    }
}

impl Default for TenantLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Identifies one of the [`TenantLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TenantLimit {
    PendingJobs,
    RunningJobs,
    StoredBytes,
    Nodes,
    Streams,
    StreamsPerIdentity,
}

impl TenantLimit {
    pub const ALL: [Self; 6] = [
        Self::PendingJobs,
        Self::RunningJobs,
        Self::StoredBytes,
        Self::Nodes,
        Self::Streams,
        Self::StreamsPerIdentity,
    ];

    /// The name in messages, in the details of a refused call, and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PendingJobs => "pendingJobs",
            Self::RunningJobs => "runningJobs",
            Self::StoredBytes => "storedBytes",
            Self::Nodes => "nodes",
            Self::Streams => "streams",
            Self::StreamsPerIdentity => "streamsPerIdentity",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }
}

impl fmt::Display for TenantLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_name_and_a_value_of_its_own() {
        let limits = TenantLimits {
            pending_jobs: 1,
            running_jobs: 2,
            stored_bytes: 3,
            nodes: 4,
            streams: 5,
            streams_per_identity: 6,
        };
        assert_eq!(TenantLimit::ALL.map(|limit| limits.of(limit)), [1, 2, 3, 4, 5, 6]);
        let mut copy = TenantLimits::default();
        for limit in TenantLimit::ALL {
            copy.set(limit, limits.of(limit));
        }
        assert_eq!(copy, limits);
        assert_eq!(
            TenantLimit::ALL.map(|limit| TenantLimit::from_name(limit.name())),
            TenantLimit::ALL.map(Some)
        );
        assert_eq!(TenantLimit::from_name("bananas"), None);
    }
}
