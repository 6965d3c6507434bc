//! What time it is.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// How far other clocks are thought to be behind.
const SKEW: SignedDuration = SignedDuration::from_hours(1);

/// A time, and how far it may differ elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkewedTime {
    /// By our clock.
    pub time: Timestamp,
    /// Certificates begin this long before they are made, because other clocks may be behind.
    pub skew: SignedDuration,
}

/// The wall clock, or one that a test turns. Certificates end by the wall clock, also while a machine sleeps and its
/// monotonic clock stands still.
#[derive(Clone)]
pub struct WebhookClock(Arc<dyn Fn() -> SkewedTime + Send + Sync>);

impl WebhookClock {
    /// The machine's.
    pub fn wall() -> Self {
        let time = || Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH);
        Self::new(move || SkewedTime { time: time(), skew: SKEW })
    }

    /// Another.
    pub fn new(now: impl Fn() -> SkewedTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time.
    pub fn now(&self) -> SkewedTime {
        (self.0)()
    }
}

impl fmt::Debug for WebhookClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebhookClock").field(&self.now()).finish()
    }
}
