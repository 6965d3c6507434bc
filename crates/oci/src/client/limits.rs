//! Timeouts and retries.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};

/// The slowest upload that is not treated as a timeout, in bytes per second.
const MIN_UPLOAD_RATE: u64 = 128 << 10;

/// Timeouts and retries of the operations of a client.
#[derive(Clone, Debug)]
pub struct RegistryLimits {
    /// Timeout for connecting.
    pub connect: Duration,
    /// Timeout from a request to the headers of its response.
    pub headers: Duration,
    /// Timeout between two chunks of a body.
    pub idle: Duration,
    /// Deadline of one operation with all its attempts.
    pub operation: Duration,
    /// Attempts while the error is transient.
    pub attempts: usize,
    /// Delay before the second attempt; it about doubles before each further one.
    pub back_off: Duration,
    pub max_redirects: usize,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            operation: Duration::from_mins(5),
            attempts: 4,
            back_off: Duration::from_millis(200),
            max_redirects: 5,
        }
    }
}

impl RegistryLimits {
    pub(super) fn retry_delays(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        ExponentialBuilder::default()
            .with_min_delay(self.back_off)
            .with_max_delay(self.back_off.saturating_mul(40))
            .with_max_times(self.attempts.saturating_sub(1))
            .with_jitter()
            .build()
    }

    /// Timeout from a request with a body of this size to the headers of its response.
    pub(super) fn response_timeout(&self, body_bytes: usize) -> Duration {
        self.headers + Duration::from_secs(body_bytes as u64 / MIN_UPLOAD_RATE)
    }
}
