//! Two kinds of time.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use vmafx_queue::clock::{Clock, SteadyClock, Timestamp};

/// The machine's clock, read each time: a token's times are everybody's, so a correction must count.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp(0) + SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
}

/// What tokens are held against, and what ages are measured by. They differ when the machine's clock is set.
#[derive(Clone)]
pub struct Time {
    wall: Arc<dyn Clock>,
    steady: Arc<dyn Clock>,
}

impl Time {
    /// The machine's.
    pub fn real() -> Self {
        Self { wall: Arc::new(WallClock), steady: Arc::new(SteadyClock::start()) }
    }

    /// One clock for both, as a test has it.
    pub fn by(clock: Arc<dyn Clock>) -> Self {
        Self { wall: Arc::clone(&clock), steady: clock }
    }

    /// The second that tokens speak of.
    pub(super) fn second(&self) -> i64 {
        self.wall.now().0.div_euclid(1000)
    }

    /// Only good for differences.
    pub(super) fn steady(&self) -> Timestamp {
        self.steady.now()
    }

    /// How long ago that was.
    pub(super) fn since(&self, then: Timestamp) -> Duration {
        self.steady().since(then)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Time")
    }
}
