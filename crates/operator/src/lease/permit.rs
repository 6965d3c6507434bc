//! Whether a write may be sent at this very moment.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// Holds until an instant that every renewal puts off. It expires by itself, by the clock, so that a process that was
/// frozen finds it expired in the moment it thaws, before anybody could tell it.
#[derive(Clone, Debug)]
pub struct Permit(Option<Arc<Mutex<Option<Instant>>>>);

impl Permit {
    /// One that always holds: for operation without election, and for writes that need none.
    pub fn always() -> Self {
        Self(None)
    }

    /// One that does not hold until somebody extends it.
    pub(crate) fn never() -> Self {
        Self(Some(Arc::default()))
    }

    /// Whether a write may be sent.
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
    async fn a_permit_expires_by_itself_for_all_who_have_it() {
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
