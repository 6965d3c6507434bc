use vmafx_job::TenantLimit;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::OpenLabel;

#[derive(Debug)]
pub struct TenantLabel;

impl OpenLabel for TenantLabel {
    const NAME: &'static str = "tenant";
    const LIMIT: usize = 256;
}

#[derive(Debug)]
pub struct ModelLabel;

impl OpenLabel for ModelLabel {
    const NAME: &'static str = "model";
    const LIMIT: usize = 64;
}

closed_label! {
    pub enum JobOutcome: "outcome" {
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

closed_label! {
    pub enum RequeueReason: "reason" {
        NodeLost = "node_lost",
        /// The attempt failed through no fault of the job.
        AttemptFailed = "attempt_failed",
        /// Stays at zero because leases survive a restart; dashboards use the value.
        ControllerRestart = "controller_restart",
        /// The job was assigned but could not be delivered.
        AssignRollback = "assign_rollback",
    }
}

closed_label! {
    pub enum LimitLabel: "limit" {
        PendingJobs = "pendingJobs",
        RunningJobs = "runningJobs",
        StoredBytes = "storedBytes",
        Nodes = "nodes",
        Streams = "streams",
        StreamsPerIdentity = "streamsPerIdentity",
    }
}

impl From<TenantLimit> for LimitLabel {
    fn from(limit: TenantLimit) -> Self {
        match limit {
            TenantLimit::PendingJobs => Self::PendingJobs,
            TenantLimit::RunningJobs => Self::RunningJobs,
            TenantLimit::StoredBytes => Self::StoredBytes,
            TenantLimit::Nodes => Self::Nodes,
            TenantLimit::Streams => Self::Streams,
            TenantLimit::StreamsPerIdentity => Self::StreamsPerIdentity,
        }
    }
}

closed_label! {
    pub enum ReadSource: "source" {
        Queue = "queue",
    }
}

closed_label! {
    pub enum ModelProfile: "profile" {
        Standard = "standard",
        /// High frame rate.
        Hfr = "hfr",
    }
}

impl ModelProfile {
    /// Models for high frame rates have `hfr` in their names.
    pub fn of(model: &str) -> Self {
        if model.contains("hfr") { Self::Hfr } else { Self::Standard }
    }
}
