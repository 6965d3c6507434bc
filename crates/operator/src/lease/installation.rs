//! The identity of an installation of the operator: all replicas that share one lease, one after the other.
//!
//! The name of a cluster does not tell a cluster from a copy that was restored from its snapshot: the copy has the same
//! `kube-system` UID, and may be configured with the same name. Both operators then see each other's jobs, and each would
//! cancel those whose resource it does not have. So every job carries the identity of the installation that submitted it.
//!
//! The identity is an annotation of the lease. A copy has the annotation too, but a lease that nobody renewed since the
//! snapshot: whoever takes over a lease that was not renewed for a while starts a new installation. The price is that jobs of
//! resources which are deleted during a longer outage of the operator run to their end instead of being cancelled.

use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

const ANNOTATION: &str = "vmafx.dev/installation";

/// Longer than an upgrade of the operator, shorter than the restore of a cluster. The clocks of two machines are compared
/// here, so it is also longer than any tolerable difference between them.
const MAX_GAP: SignedDuration = SignedDuration::from_mins(10);

/// Clones share their content. Empty until the lease is acquired, and without leader election.
#[derive(Clone, Debug, Default)]
pub struct Installation(Arc<Mutex<String>>);

impl Installation {
    pub fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, id: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}

/// The installation that continues with a lease: the recorded one, if the lease was renewed until a moment ago.
pub(super) fn continued(lease: &Lease, now: Timestamp) -> String {
    let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref());
    let recorded = lease.metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION));
    recorded
        .filter(|id| !id.is_empty())
        .filter(|_| renewed.is_some_and(|renewed| now.duration_since(renewed.0).abs() <= MAX_GAP))
        .cloned()
        .unwrap_or_else(|| Uuid::new_v4().simple().to_string())
}

pub(super) fn record(lease: &mut Lease, id: &str) {
    lease.metadata.annotations.get_or_insert_default().insert(ANNOTATION.to_owned(), id.to_owned());
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::handover(5, true)]
    #[case::upgrade(600, true)]
    #[case::outage_or_restore(601, false)]
    #[case::clock_ahead(-5, true)]
    #[case::clock_far_ahead(-601, false)]
    fn a_lease_that_was_renewed_lately_continues_its_installation(#[case] age: i64, #[case] same: bool) {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let renew_time = Some(MicroTime(now - SignedDuration::from_secs(age)));
        let mut lease =
            Lease { spec: Some(LeaseSpec { renew_time, ..LeaseSpec::default() }), ..Lease::default() };
        record(&mut lease, "i1");
        let continued = continued(&lease, now);
        assert_eq!(continued == "i1", same, "{continued}");
        assert!(!continued.is_empty());
    }

    #[test]
    fn a_lease_without_an_installation_starts_one() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        assert_ne!(continued(&Lease::default(), now), continued(&Lease::default(), now));
    }
}
