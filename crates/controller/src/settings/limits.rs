use vmafx_job::TenantLimits;
use vmafx_kit::config::SettingsError;

/// Applied to each tenant on its own.
#[derive(Clone, Debug, clap::Args)]
pub struct LimitArgs {
    /// Maximum number of waiting jobs of a tenant.
    #[arg(long, env = "VMAFX_LIMITS_PENDING_JOBS", value_name = "NUMBER", default_value_t = TenantLimits::DEFAULT.pending_jobs)]
    pub limits_pending_jobs: u64,

    /// Maximum number of jobs that a tenant runs at once.
    #[arg(long, env = "VMAFX_LIMITS_RUNNING_JOBS", value_name = "NUMBER", default_value_t = TenantLimits::DEFAULT.running_jobs)]
    pub limits_running_jobs: u64,

    /// Maximum size of the stored requests and results of a tenant, and 1 KiB for each job. By default 8 GiB, and with an
    /// sqlite store at most half of its volume.
    #[arg(long, env = "VMAFX_LIMITS_STORED_BYTES", value_name = "BYTES")]
    pub limits_stored_bytes: Option<u64>,

    /// Maximum number of connected nodes of a tenant.
    #[arg(long, env = "VMAFX_LIMITS_NODES", value_name = "NUMBER", default_value_t = TenantLimits::DEFAULT.nodes)]
    pub limits_nodes: u64,

    /// Maximum number of concurrent streams of a tenant.
    #[arg(long, env = "VMAFX_LIMITS_STREAMS", value_name = "NUMBER", default_value_t = TenantLimits::DEFAULT.streams)]
    pub limits_streams: u64,

    /// Maximum number of concurrent streams of one caller.
    #[arg(long, env = "VMAFX_LIMITS_STREAMS_PER_IDENTITY", value_name = "NUMBER", default_value_t = TenantLimits::DEFAULT.streams_per_identity)]
    pub limits_streams_per_identity: u64,

    /// Highest priority that a writer may give a job, and with a minus sign the lowest; admins may give any.
    #[arg(long, env = "VMAFX_LIMITS_WRITER_PRIORITY", value_name = "NUMBER", default_value_t = DEFAULT_WRITER_PRIORITY)]
    pub limits_writer_priority: i32,
}

pub(crate) const DEFAULT_WRITER_PRIORITY: i32 = 1000;

impl LimitArgs {
    pub fn validate(&self) -> Result<(), SettingsError> {
        if self.limits_writer_priority < 0 {
            return Err(SettingsError::Value {
                variable: "VMAFX_LIMITS_WRITER_PRIORITY".to_owned(),
                value: self.limits_writer_priority.to_string(),
                reason: "use 0 or more".to_owned(),
            });
        }
        Ok(())
    }

    /// `volume_bytes` is the size of the volume of an sqlite store. One tenant must not fill it, because that stops all.
    pub fn of_tenant(&self, volume_bytes: Option<u64>) -> TenantLimits {
        let half = volume_bytes.map_or(u64::MAX, |bytes| bytes / 2);
        let stored_bytes = TenantLimits::DEFAULT.stored_bytes.min(half);
        TenantLimits {
            pending_jobs: self.limits_pending_jobs,
            running_jobs: self.limits_running_jobs,
            stored_bytes: self.limits_stored_bytes.unwrap_or(stored_bytes),
            nodes: self.limits_nodes,
            streams: self.limits_streams,
            streams_per_identity: self.limits_streams_per_identity,
        }
    }
}
