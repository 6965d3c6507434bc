//! What time it is.

use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::jiff::Timestamp;

/// The wall clock, or one that a test turns. Certificates end by the wall clock, also while a machine sleeps and its
/// monotonic clock stands still.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's.
    pub fn wall() -> Self {
        Self::new(|| Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// Another.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
