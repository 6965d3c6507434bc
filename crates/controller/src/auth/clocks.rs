//! The wall clock for the times of tokens, and a monotonic clock for ages.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use vmafx_queue::clock::{Clock, SteadyClock, SystemClock, Timestamp};

/// Reads the system clock every time, because a correction of it must affect the validity of tokens at once.
#[derive(Clone, Copy, Debug, Default)]
struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp(0) + SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }

    fn uptime(&self) -> Duration {
        SystemClock::default().uptime()
    }
}

#[derive(Clone)]
pub struct Clocks {
    wall: Arc<dyn Clock>,
    monotonic: Arc<dyn Clock>,
}

impl Clocks {
    pub fn system() -> Self {
        Self { wall: Arc::new(WallClock), monotonic: Arc::new(SteadyClock::start()) }
    }

    /// Uses one clock for both purposes, for tests.
    pub fn single(clock: Arc<dyn Clock>) -> Self {
        Self { wall: Arc::clone(&clock), monotonic: clock }
    }

    pub(super) fn unix_seconds(&self) -> i64 {
        self.wall.now().0.div_euclid(1000)
    }

    /// Only differences are meaningful.
    pub(super) fn monotonic(&self) -> Timestamp {
        self.monotonic.now()
    }

    pub(super) fn since(&self, then: Timestamp) -> Duration {
        self.monotonic().since(then)
    }
}

impl fmt::Debug for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clocks")
    }
}
