//! What a tenant holds, as counted against its limits.

use vmafx_job::{TenantLimit, TenantLimits};

use crate::{StoreError, StoreResult};

/// What one tenant has stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TenantUsage {
    pub(crate) pending_jobs: u64,
    pub(crate) stored_bytes: u64,
}

impl TenantUsage {
    /// Refuses another pending job of this size.
    pub(crate) fn check_submission(&self, bytes: u64, limits: &TenantLimits) -> StoreResult<()> {
        if self.pending_jobs >= limits.pending_jobs {
            return Err(reached(TenantLimit::PendingJobs, limits));
        }
        self.check_growth(bytes, limits)
    }

    pub(crate) fn check_growth(&self, bytes: u64, limits: &TenantLimits) -> StoreResult<()> {
        if self.stored_bytes.saturating_add(bytes) > limits.stored_bytes {
            return Err(reached(TenantLimit::StoredBytes, limits));
        }
        Ok(())
    }
}

pub(crate) const fn reached(limit: TenantLimit, limits: &TenantLimits) -> StoreError {
    StoreError::LimitReached { limit, max: limits.of(limit) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::room(TenantUsage { pending_jobs: 1, stored_bytes: 90 }, None)]
    #[case::jobs(TenantUsage { pending_jobs: 2, stored_bytes: 0 }, Some(TenantLimit::PendingJobs))]
    #[case::bytes(TenantUsage { pending_jobs: 0, stored_bytes: 91 }, Some(TenantLimit::StoredBytes))]
    #[case::no_overflow(TenantUsage { pending_jobs: 0, stored_bytes: u64::MAX }, Some(TenantLimit::StoredBytes))]
    fn a_submission_needs_room_for_a_job_and_for_its_bytes(
        #[case] usage: TenantUsage,
        #[case] refused: Option<TenantLimit>,
    ) {
        let limits = TenantLimits { pending_jobs: 2, stored_bytes: 100, ..TenantLimits::default() };
        let found = match usage.check_submission(10, &limits) {
            Ok(()) => None,
            Err(StoreError::LimitReached { limit, max }) => {
                assert_eq!(max, limits.of(limit));
                Some(limit)
            }
            Err(other) => panic!("{other}"),
        };
        assert_eq!(found, refused);
    }
}
