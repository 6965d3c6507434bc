//! The clock by which certificates are issued and expire.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// How far the clocks of API servers and clients may be behind.
const SKEW: SignedDuration = SignedDuration::from_hours(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkewedTime {
    pub time: Timestamp,
    /// Certificates are valid from this long before they are issued, because other clocks may be behind.
    pub skew: SignedDuration,
}

/// The wall clock, or a clock that a test sets. Certificates expire by the wall clock, also while a machine sleeps
/// and its monotonic clock stands still.
#[derive(Clone)]
pub struct CertificateClock(Arc<dyn Fn() -> SkewedTime + Send + Sync>);

impl CertificateClock {
    pub fn wall() -> Self {
        let time = || Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH);
        Self::new(move || SkewedTime { time: time(), skew: SKEW })
    }

    pub fn new(now: impl Fn() -> SkewedTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub fn now(&self) -> SkewedTime {
        (self.0)()
    }
}

impl fmt::Debug for CertificateClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CertificateClock").field(&self.now()).finish()
    }
}
