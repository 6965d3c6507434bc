//! The state of a lease and the next record. No I/O.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

/// The lease as it was last observed, and since when it has been unchanged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObservedLease {
    pub(super) lease: Lease,
    since: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaseStanding {
    Ours,
    /// The lease was released, or its holder has not renewed it for the duration in the record.
    Free,
    Held {
        by: String,
    },
}

impl ObservedLease {
    /// Only a changed record counts as a renewal: a new label does not keep a leader alive.
    pub(super) fn new(before: Option<Self>, lease: Lease, now: Instant) -> Self {
        let since =
            before.filter(|before| before.lease.spec == lease.spec).map_or(now, |before| before.since);
        Self { lease, since }
    }

    /// `us` is the own identity; `duration` applies to a record without one.
    pub(super) fn standing(&self, us: &str, duration: Duration, now: Instant) -> LeaseStanding {
        let spec = self.lease.spec.as_ref();
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        // The holder acts by the duration that it wrote.
        let written = spec.and_then(|spec| spec.lease_duration_seconds);
        let written = written.and_then(|seconds| u64::try_from(seconds).ok());
        let duration = written.filter(|seconds| *seconds > 0).map_or(duration, Duration::from_secs);
        if holder == us {
            LeaseStanding::Ours
        } else if holder.is_empty() || now.duration_since(self.since) >= duration {
            LeaseStanding::Free
        } else {
            LeaseStanding::Held { by: holder.to_owned() }
        }
    }
}

/// The record with our identity: renewed if the lease was ours already, else acquired.
pub(super) fn claimed(before: Option<&LeaseSpec>, us: &str, duration: Duration, now: Timestamp) -> LeaseSpec {
    let ours = before.filter(|before| before.holder_identity.as_deref() == Some(us));
    let transitions = before.map_or(0, |before| before.lease_transitions.unwrap_or(0));
    LeaseSpec {
        holder_identity: Some(us.to_owned()),
        lease_duration_seconds: Some(whole_seconds(duration)),
        acquire_time: ours.and_then(|ours| ours.acquire_time.clone()).or(Some(MicroTime(now))),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(if before.is_none() || ours.is_some() {
            transitions
        } else {
            transitions.saturating_add(1)
        }),
        ..before.cloned().unwrap_or_default()
    }
}

/// The record without a holder, which any candidate may take.
pub(super) fn released(before: &LeaseSpec, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        ..before.clone()
    }
}

/// Rounded up, so that no candidate takes over earlier than the settings say.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
