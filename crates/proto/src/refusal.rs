//! Why a call was refused, for programs: `google.rpc.ErrorInfo` beside the status.
//!
//! The code of a status says what kind of refusal it is, its message is for people. Where a program has to tell apart two
//! refusals with the same code, the controller attaches one of these reasons.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// The domain of our reasons, as `google.rpc.ErrorInfo` wants one.
const DOMAIN: &str = "vmafx.dev";

/// Why a call was refused. Unknown reasons of a later release are read as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// A clip or a report is outside the scoring roots of the tenant.
    OutsideScoringRoots,
}

impl RefusalReason {
    const ALL: [Self; 1] = [Self::OutsideScoringRoots];

    /// Its spelling on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutsideScoringRoots => "OUTSIDE_SCORING_ROOTS",
        }
    }

    /// A status with this reason.
    pub fn status(self, code: Code, message: impl Into<String>) -> Status {
        let details = ErrorDetails::with_error_info(self.name(), DOMAIN, HashMap::new());
        Status::with_error_details(code, message, details)
    }

    /// The reason that a status carries.
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
