//! Machine-readable reasons of refused calls, as `google.rpc.ErrorInfo` of the status.
//!
//! The message of a status is for people. Where a program has to distinguish two refusals with the same code, the
//! controller attaches one of these reasons.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use vmafx_job::TenantLimit;

/// The domain of `google.rpc.ErrorInfo`.
const DOMAIN: &str = "vmafx.dev";

/// The metadata of [`RefusalReason::LimitReached`]: the name of the limit.
const LIMIT: &str = "limit";

/// Why a call was refused. A reason of a later release is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// A clip is outside the scoring roots of the tenant, or a report outside its report roots.
    OutsideScoringRoots,
    /// The controller cannot use its store now. The call may or may not have had an effect.
    StoreUnavailable,
    /// The controller's store has no room for anything new.
    StoreFull,
    /// The idempotency key stands for another request of the same submitter.
    IdempotencyKeyReused,
    /// The tenant, or the caller, holds as much as it may; [`reached_limit`] says of what.
    LimitReached,
}

impl RefusalReason {
    const ALL: [Self; 5] = [
        Self::OutsideScoringRoots,
        Self::StoreUnavailable,
        Self::StoreFull,
        Self::IdempotencyKeyReused,
        Self::LimitReached,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::OutsideScoringRoots => "OUTSIDE_SCORING_ROOTS",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::StoreFull => "STORE_FULL",
            Self::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::LimitReached => "LIMIT_REACHED",
        }
    }

    pub fn status(self, code: Code, message: impl Into<String>) -> Status {
        self.status_with(code, message, HashMap::new())
    }

    fn status_with(
        self,
        code: Code,
        message: impl Into<String>,
        metadata: HashMap<String, String>,
    ) -> Status {
        let details = ErrorDetails::with_error_info(self.name(), DOMAIN, metadata);
        Status::with_error_details(code, message, details)
    }

    pub fn of(status: &Status) -> Option<Self> {
        let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN)?;
        Self::ALL.into_iter().find(|reason| reason.name() == info.reason)
    }
}

/// The status of a call that a limit of the tenant refused.
pub fn limit_reached(limit: TenantLimit, message: impl Into<String>) -> Status {
    let metadata = [(LIMIT.to_owned(), limit.name().to_owned())].into();
    RefusalReason::LimitReached.status_with(Code::ResourceExhausted, message, metadata)
}

/// The limit of [`RefusalReason::LimitReached`]; a limit of a later release is ignored.
pub fn reached_limit(status: &Status) -> Option<TenantLimit> {
    let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN)?;
    TenantLimit::from_name(info.metadata.get(LIMIT)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_comes_back_from_the_wire() {
        let status = RefusalReason::OutsideScoringRoots.status(Code::PermissionDenied, "not there");
        assert_eq!(RefusalReason::of(&status), Some(RefusalReason::OutsideScoringRoots));
        assert_eq!((status.code(), status.message()), (Code::PermissionDenied, "not there"));
    }

    #[test]
    fn the_limit_of_a_refusal_comes_back_from_the_wire() {
        let status = limit_reached(TenantLimit::StoredBytes, "too much");
        assert_eq!(RefusalReason::of(&status), Some(RefusalReason::LimitReached));
        assert_eq!(reached_limit(&status), Some(TenantLimit::StoredBytes));
        assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "too much"));
        assert_eq!(reached_limit(&RefusalReason::StoreFull.status(Code::ResourceExhausted, "full")), None);
    }

    #[test]
    fn a_status_without_details_has_no_reason() {
        assert_eq!(RefusalReason::of(&Status::permission_denied("scoring.reference: no")), None);
    }
}
