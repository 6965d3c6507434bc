//! For how long things are kept.

use std::time::Duration;

use vmafx_kit::config::{GoDuration, SettingsError};
use vmafx_queue::store::Retention;

const SHORTEST: Duration = Duration::from_mins(1);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// The settings of retention. Both bounds hold, for each tenant apart: what is older goes, and of what is left the
/// oldest beyond the number.
#[derive(Clone, Debug, clap::Args)]
pub struct RetentionArgs {
    /// How long finished jobs are kept, with their attempts.
    #[arg(long, env = "VMAFX_RETENTION_JOBS_FOR", value_name = "DURATION", default_value = "720h")]
    pub retention_jobs_for: GoDuration,

    /// How many finished jobs are kept for a tenant.
    #[arg(long, env = "VMAFX_RETENTION_JOBS", value_name = "NUMBER", default_value_t = 1_000_000)]
    pub retention_jobs: u64,

    /// How long samples are kept.
    #[arg(long, env = "VMAFX_RETENTION_SAMPLES_FOR", value_name = "DURATION", default_value = "8760h")]
    pub retention_samples_for: GoDuration,

    /// How many samples are kept for a tenant.
    #[arg(long, env = "VMAFX_RETENTION_SAMPLES", value_name = "NUMBER", default_value_t = 1_000_000)]
    pub retention_samples: u64,

    /// How often it is looked for what may go.
    #[arg(long, env = "VMAFX_RETENTION_INTERVAL", value_name = "DURATION", default_value = "1m")]
    pub retention_interval: GoDuration,

    /// How many go at once; small, so that nobody waits for it.
    #[arg(long, env = "VMAFX_RETENTION_BATCH", value_name = "NUMBER", default_value_t = 500)]
    pub retention_batch: u32,
}

impl RetentionArgs {
    /// Checks the bounds.
    pub fn keep(&self) -> Result<Retention, SettingsError> {
        let refuse = |variable: &str, value: String, reason: &str| {
            Err(SettingsError::Value { variable: variable.to_owned(), value, reason: reason.to_owned() })
        };
        let times = [
            ("VMAFX_RETENTION_JOBS_FOR", self.retention_jobs_for, SHORTEST, "use 1m or more"),
            ("VMAFX_RETENTION_SAMPLES_FOR", self.retention_samples_for, SHORTEST, "use 1m or more"),
            ("VMAFX_RETENTION_INTERVAL", self.retention_interval, SHORTEST_INTERVAL, "use 1s or more"),
        ];
        for (variable, time, shortest, reason) in times {
            if time.0 < shortest {
                return refuse(variable, time.to_string(), reason);
            }
        }
        if !(1..=10_000).contains(&self.retention_batch) {
            return refuse("VMAFX_RETENTION_BATCH", self.retention_batch.to_string(), "use 1 to 10000");
        }
        Ok(Retention {
            jobs_for: self.retention_jobs_for.0,
            jobs: self.retention_jobs,
            samples_for: self.retention_samples_for.0,
            samples: self.retention_samples,
            batch: self.retention_batch,
        })
    }
}
