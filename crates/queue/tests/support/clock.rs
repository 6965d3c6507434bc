//! A clock that only a test changes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use vmafx_queue::clock::{Clock, ClockReading, Timestamp};

/// Clones share the same time.
#[derive(Clone, Debug)]
pub(crate) struct TestClock(Arc<Mutex<ClockReading>>);

impl Default for TestClock {
    fn default() -> Self {
        let start = ClockReading { wall: Timestamp(1_700_000_000_000), uptime: Duration::from_hours(1) };
        Self(Arc::new(Mutex::new(start)))
    }
}

impl TestClock {
    /// Time passes.
    pub(crate) fn advance(&self, length: Duration) {
        let mut reading = self.0.lock().unwrap();
        reading.wall = reading.wall + length;
        reading.uptime += length;
    }

    /// The clock is set ahead, and no time passes.
    pub(crate) fn set_ahead(&self, length: Duration) {
        let mut reading = self.0.lock().unwrap();
        reading.wall = reading.wall + length;
    }

    /// The clock is set back, and no time passes.
    pub(crate) fn turn_back(&self, length: Duration) {
        let mut reading = self.0.lock().unwrap();
        reading.wall = reading.wall - length;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.reading().wall
    }

    fn uptime(&self) -> Duration {
        self.reading().uptime
    }

    fn reading(&self) -> ClockReading {
        *self.0.lock().unwrap()
    }
}
