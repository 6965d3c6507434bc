//! Machine-readable reasons of refused calls, as `google.rpc.ErrorInfo` of the status.
//!
//! The message of a status is for people. Where a program has to distinguish two refusals with the same code, the
//! controller attaches one of these reasons.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// The domain of `google.rpc.ErrorInfo`.
const DOMAIN: &str = "vmafx.dev";

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
}

impl RefusalReason {
    const ALL: [Self; 4] =
        [Self::OutsideScoringRoots, Self::StoreUnavailable, Self::StoreFull, Self::IdempotencyKeyReused];

    pub const fn name(self) -> &'static str {
        match self {
            Self::OutsideScoringRoots => "OUTSIDE_SCORING_ROOTS",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::StoreFull => "STORE_FULL",
            Self::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
        }
    }

    pub fn status(self, code: Code, message: impl Into<String>) -> Status {
        let details = ErrorDetails::with_error_info(self.name(), DOMAIN, HashMap::new());
        Status::with_error_details(code, message, details)
    }

    pub fn of(status: &Status) -> Option<Self> {
        let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN)?;
        Self::ALL.into_iter().find(|reason| reason.name() == info.reason)
    }
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
    fn a_status_without_details_has_no_reason() {
        assert_eq!(RefusalReason::of(&Status::permission_denied("scoring.reference: no")), None);
    }
}
