//! The clock that leases, deadlines and back-offs are measured with.

use std::ops::{Add, Sub};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time since `earlier`; zero when `earlier` is later than this.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }
}

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

/// The system time at start-up, advanced by the monotonic clock, so that time never jumps within one process.
#[derive(Clone, Copy, Debug)]
pub struct SteadyClock {
    started: Instant,
    at: Timestamp,
}

impl SteadyClock {
    /// Reads the system clock once.
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), at: Timestamp(0) + since }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        self.at + self.started.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_before_the_start_are_nothing() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
        assert_eq!(Timestamp(9).since(Timestamp(5)), Duration::from_millis(4));
    }

    #[test]
    fn the_ends_of_time_do_not_wrap() {
        assert_eq!(Timestamp(i64::MAX) + Duration::MAX, Timestamp(i64::MAX));
        assert_eq!(Timestamp(0) - Duration::MAX, Timestamp(-i64::MAX));
    }
}
