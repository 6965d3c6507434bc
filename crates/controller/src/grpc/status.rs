//! Refusals as gRPC statuses.

use tonic::{Code, Status};
use vmafx_proto::refusal::{RefusalReason, limit_reached};

use crate::audit::CallEnd;
use crate::refusal::Refusal;

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        if let Refusal::LimitReached { limit, .. } = refusal {
            return limit_reached(limit, message);
        }
        match refused(&refusal) {
            CallEnd { code, reason: Some(reason) } => reason.status(code, message),
            CallEnd { code, reason: None } => Self::new(code, message),
        }
    }
}

/// How a refused call ends.
pub(crate) fn refused(refusal: &Refusal) -> CallEnd {
    let reason = match refusal {
        Refusal::OutsideRoots { .. } => Some(RefusalReason::OutsideScoringRoots),
        Refusal::StoreUnavailable => Some(RefusalReason::StoreUnavailable),
        Refusal::StoreFull(_) => Some(RefusalReason::StoreFull),
        Refusal::KeyReused(_) => Some(RefusalReason::IdempotencyKeyReused),
        Refusal::LimitReached { .. } => Some(RefusalReason::LimitReached),
        _ => None,
    };
    CallEnd { code: code(refusal), reason }
}

fn code(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::Unauthenticated | Refusal::Incomplete(_) => Code::Unauthenticated,
        Refusal::Denied(_) | Refusal::OutsideRoots { .. } => Code::PermissionDenied,
        Refusal::Invalid { .. } => Code::InvalidArgument,
        Refusal::NotFound(_) => Code::NotFound,
        Refusal::Conflict(_) => Code::FailedPrecondition,
        Refusal::OutOfRange(_) => Code::OutOfRange,
        Refusal::Exhausted(_) | Refusal::StoreFull(_) | Refusal::LimitReached { .. } => {
            Code::ResourceExhausted
        }
        Refusal::KeyReused(_) => Code::AlreadyExists,
        Refusal::Unavailable(_) | Refusal::StoreUnavailable => Code::Unavailable,
        Refusal::Internal => Code::Internal,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use vmafx_job::TenantLimit;
    use vmafx_proto::refusal::reached_limit;

    use super::*;

    #[rstest]
    #[case(Refusal::Unauthenticated, Code::Unauthenticated, "invalid or missing token")]
    #[case(
        Refusal::Incomplete("tenant_id not found in token"),
        Code::Unauthenticated,
        "tenant_id not found in token"
    )]
    #[case(Refusal::Denied("no".into()), Code::PermissionDenied, "no")]
    #[case(Refusal::invalid("job_id", "is required"), Code::InvalidArgument, "job_id: is required")]
    #[case(Refusal::NotFound("no".into()), Code::NotFound, "no")]
    #[case(Refusal::Conflict("no".into()), Code::FailedPrecondition, "no")]
    #[case(Refusal::OutOfRange("no".into()), Code::OutOfRange, "no")]
    #[case(Refusal::Exhausted("no".into()), Code::ResourceExhausted, "no")]
    #[case(Refusal::StoreFull("no".into()), Code::ResourceExhausted, "no")]
    #[case(Refusal::KeyReused("no".into()), Code::AlreadyExists, "idempotency_key: no")]
    #[case(Refusal::Unavailable("no".into()), Code::Unavailable, "no")]
    #[case(Refusal::Internal, Code::Internal, "internal error")]
    #[case(
        Refusal::StoreUnavailable,
        Code::Unavailable,
        "the controller cannot reach its store; try again, at another controller if there is one"
    )]
    fn every_refusal_has_its_code(#[case] refusal: Refusal, #[case] code: Code, #[case] text: &str) {
        let status = Status::from(refusal);
        assert_eq!((status.code(), status.message()), (code, text));
    }

    #[test]
    fn a_program_and_a_person_can_tell_which_limit_was_reached() {
        let status = Status::from(Refusal::limit_reached(TenantLimit::PendingJobs, 5));
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(reached_limit(&status), Some(TenantLimit::PendingJobs));
        assert_eq!(
            status.message(),
            "limit pendingJobs: at most 5 jobs of a tenant may wait; submit again when some of them have started, or \
             cancel some, or have the limit raised (VMAFX_LIMITS_PENDING_JOBS, or the tenant's quota)"
        );
    }

    #[test]
    fn a_program_can_tell_that_the_store_is_away() {
        let status = Status::from(Refusal::StoreUnavailable);
        assert_eq!(RefusalReason::of(&status), Some(RefusalReason::StoreUnavailable));
    }
}
