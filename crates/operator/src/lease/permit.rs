//! Whether a write may be sent now.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// Holds until an instant that every renewal extends. It expires by the clock, so that a frozen process finds it expired as
/// soon as it runs again.
#[derive(Clone, Debug)]
pub struct Permit(Option<Arc<Mutex<Option<Instant>>>>);

impl Permit {
    /// Always holds: for an operator without leader election, and for writes that need no leader.
    pub fn always() -> Self {
        Self(None)
    }

    /// Does not hold until it is extended.
    pub(crate) fn never() -> Self {
        Self(Some(Arc::default()))
    }

    pub fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|until| {
            let until = *until.lock().unwrap_or_else(PoisonError::into_inner);
            until.is_some_and(|until| Instant::now() < until)
        })
    }

    pub(crate) fn hold_until(&self, until: Instant) {
        self.set(Some(until));
    }

    pub(crate) fn revoke(&self) {
        self.set(None);
    }

    fn set(&self, value: Option<Instant>) {
        if let Some(until) = &self.0 {
            *until.lock().unwrap_or_else(PoisonError::into_inner) = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_permit_expires_for_all_its_clones() {
        let permit = Permit::never();
        let other = permit.clone();
        assert!(!other.holds());
        permit.hold_until(Instant::now() + Duration::from_secs(10));
        assert!(other.holds());
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!other.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn a_revoked_permit_does_not_hold() {
        let permit = Permit::never();
        permit.hold_until(Instant::now() + Duration::from_secs(10));
        permit.revoke();
        assert!(!permit.holds());
        assert!(Permit::always().holds());
    }
}
