use std::time::Duration;

use vmafx_kit::config::{GoDuration, SettingsError};
use vmafx_queue::store::Retention;

const MIN_AGE: Duration = Duration::from_mins(1);
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Age and number are limited independently for each tenant: older items are deleted, and then the oldest ones beyond
/// the number.
#[derive(Clone, Debug, clap::Args)]
pub struct RetentionArgs {
    /// How long to keep finished jobs and their attempts.
    #[arg(long, env = "VMAFX_RETENTION_JOBS_FOR", value_name = "DURATION", default_value = "720h")]
    pub retention_jobs_for: GoDuration,

    /// How many finished jobs to keep per tenant.
    #[arg(long, env = "VMAFX_RETENTION_JOBS", value_name = "NUMBER", default_value_t = 1_000_000)]
    pub retention_jobs: u64,

    /// How long to keep samples.
    #[arg(long, env = "VMAFX_RETENTION_SAMPLES_FOR", value_name = "DURATION", default_value = "8760h")]
    pub retention_samples_for: GoDuration,

    /// How many samples to keep per tenant.
    #[arg(long, env = "VMAFX_RETENTION_SAMPLES", value_name = "NUMBER", default_value_t = 1_000_000)]
    pub retention_samples: u64,

    /// Interval at which jobs and samples beyond retention are deleted.
    #[arg(long, env = "VMAFX_RETENTION_INTERVAL", value_name = "DURATION", default_value = "1m")]
    pub retention_interval: GoDuration,

    /// Maximum number of deletions in one transaction; a small batch does not block other writes.
    #[arg(long, env = "VMAFX_RETENTION_BATCH", value_name = "NUMBER", default_value_t = 500)]
    pub retention_batch: u32,
}

impl RetentionArgs {
    pub fn validate(&self) -> Result<Retention, SettingsError> {
        let refuse = |variable: &str, value: String, reason: &str| {
            Err(SettingsError::Value { variable: variable.to_owned(), value, reason: reason.to_owned() })
        };
        let times = [
            ("VMAFX_RETENTION_JOBS_FOR", self.retention_jobs_for, MIN_AGE, "use 1m or more"),
            ("VMAFX_RETENTION_SAMPLES_FOR", self.retention_samples_for, MIN_AGE, "use 1m or more"),
            ("VMAFX_RETENTION_INTERVAL", self.retention_interval, MIN_INTERVAL, "use 1s or more"),
        ];
        for (variable, time, minimum, reason) in times {
            if time.0 < minimum {
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
