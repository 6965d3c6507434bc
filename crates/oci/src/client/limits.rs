//! How long, and how often.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};

/// The slowest way to a registry that is worth waiting for, in bytes a second.
const SLOWEST: u64 = 128 << 10;

/// How long, and how often.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Until a connection stands.
    pub connect: Duration,
    /// From the request to the headers of the answer.
    pub headers: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// One operation from beginning to end, with all attempts.
    pub whole: Duration,
    /// Attempts while the answer may get better.
    pub attempts: usize,
    /// Before the second attempt; about twice as long before each further one.
    pub back_off: Duration,
    /// Redirects that are followed.
    pub redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            whole: Duration::from_mins(5),
            attempts: 4,
            back_off: Duration::from_millis(200),
            redirects: 5,
        }
    }
}

impl Limits {
    /// The pauses between attempts.
    pub(super) fn pauses(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        ExponentialBuilder::default()
            .with_min_delay(self.back_off)
            .with_max_delay(self.back_off.saturating_mul(40))
            .with_max_times(self.attempts.saturating_sub(1))
            .with_jitter()
            .build()
    }

    /// From a request with so many bytes to the headers of the answer.
    pub(super) fn answer(&self, sent: usize) -> Duration {
        self.headers + Duration::from_secs(sent as u64 / SLOWEST)
    }
}
