//! The status of a VmafxTenant, from its verdict.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff;
use vmafx_api::conditions::TenantCondition;
use vmafx_api::{Condition, ConditionStatus, VmafxTenantStatus};

use super::verdict::TenantVerdict;

/// The status to write; `None` if the resource has it already. `now` is in Unix seconds.
pub(super) fn next(
    shown: Option<&VmafxTenantStatus>,
    generation: Option<i64>,
    verdict: &TenantVerdict,
    now: i64,
) -> Option<VmafxTenantStatus> {
    let ready = TenantCondition::Ready.as_str();
    let before = shown.and_then(|status| status.conditions.iter().find(|condition| condition.type_ == ready));
    let status = match verdict {
        TenantVerdict::InForce => ConditionStatus::True,
        _ => ConditionStatus::False,
    };
    let since =
        before.filter(|before| before.status == status).map(|before| before.last_transition_time.clone());
    let condition = Condition {
        type_: ready.to_owned(),
        status,
        observed_generation: generation,
        last_transition_time: since
            .unwrap_or_else(|| Time(jiff::Timestamp::from_second(now).unwrap_or_default())),
        reason: verdict.reason().as_str().to_owned(),
        message: verdict.message("spec."),
    };
    let is_shown =
        before == Some(&condition) && shown.is_some_and(|status| status.observed_generation == generation);
    (!is_shown).then(|| VmafxTenantStatus { observed_generation: generation, conditions: vec![condition] })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUSPENDED: TenantVerdict = TenantVerdict::Suspended;

    fn since(status: &VmafxTenantStatus) -> i64 {
        status.conditions[0].last_transition_time.0.as_second()
    }

    #[test]
    fn a_status_is_written_once() {
        let first = next(None, Some(1), &TenantVerdict::InForce, 10).unwrap();
        assert_eq!((first.conditions[0].status, since(&first)), (ConditionStatus::True, 10));
        assert_eq!(next(Some(&first), Some(1), &TenantVerdict::InForce, 20), None);
    }

    #[test]
    fn the_time_of_the_transition_changes_with_the_status_only() {
        let first = next(None, Some(1), &TenantVerdict::InForce, 10).unwrap();
        let changed = next(Some(&first), Some(2), &TenantVerdict::InForce, 20).unwrap();
        assert_eq!((changed.observed_generation, since(&changed)), (Some(2), 10));
        let suspended = next(Some(&changed), Some(3), &SUSPENDED, 30).unwrap();
        assert_eq!((suspended.conditions[0].status, since(&suspended)), (ConditionStatus::False, 30));
        assert_eq!(suspended.conditions[0].reason, "Suspended");
    }
}
