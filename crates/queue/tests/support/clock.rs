//! A clock that only a test changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use vmafx_queue::clock::{Clock, Timestamp};

/// Clones share the same time.
#[derive(Clone, Debug)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(1_700_000_000_000)))
    }
}

impl TestClock {
    pub(crate) fn advance(&self, length: Duration) {
        self.0.store((self.now() + length).0, Ordering::SeqCst);
    }

    pub(crate) fn turn_back(&self, length: Duration) {
        self.0.store((self.now() - length).0, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
