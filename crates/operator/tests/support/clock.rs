//! A clock for certificates that a test sets.

use std::sync::{Arc, Mutex};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use vmafx_operator::authority::clock::{CertificateClock, SkewedTime};

/// Certificates are valid from 1970 on, because the clocks of API server and controller do not move with it.
#[derive(Clone)]
pub(crate) struct ManualClock(Arc<Mutex<Timestamp>>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::now())))
    }

    pub(crate) fn set(&self, time: Timestamp) {
        *self.0.lock().unwrap() = time;
    }

    pub(crate) fn advance(&self, time: SignedDuration) {
        *self.0.lock().unwrap() += time;
    }

    pub(crate) fn clock(&self) -> CertificateClock {
        let time = Arc::clone(&self.0);
        CertificateClock::new(move || {
            let time = *time.lock().unwrap();
            SkewedTime { time, skew: time.duration_since(Timestamp::UNIX_EPOCH) }
        })
    }
}
