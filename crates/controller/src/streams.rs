//! The streams that are open, counted for the whole controller, for each tenant and for each caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vmafx_job::{TenantLimit, TenantLimits};
use vmafx_queue::TenantId;

use crate::identity::Identity;
use crate::refusal::Refusal;

/// Clones share their counts.
#[derive(Clone)]
pub(crate) struct OpenStreams(Arc<Inner>);

struct Inner {
    max: usize,
    counts: Mutex<StreamCounts>,
}

#[derive(Debug, Default)]
struct StreamCounts {
    total: usize,
    /// By tenant, the count of each subject; entries of 0 are removed.
    tenants: HashMap<TenantId, HashMap<String, u64>>,
}

/// The right to one open stream.
pub(crate) struct StreamPermit {
    streams: OpenStreams,
    tenant: TenantId,
    subject: String,
}

impl OpenStreams {
    pub(crate) fn new(max: usize) -> Self {
        Self(Arc::new(Inner { max, counts: Mutex::default() }))
    }

    pub(crate) fn acquire(&self, who: &Identity, limits: &TenantLimits) -> Result<StreamPermit, Refusal> {
        let mut counts = self.counts();
        let of_tenant = counts.tenants.get(&who.tenant);
        let own = of_tenant.and_then(|subjects| subjects.get(&who.subject)).copied().unwrap_or(0);
        let all: u64 = of_tenant.map_or(0, |subjects| subjects.values().sum());
        if own >= limits.streams_per_identity {
            return Err(Refusal::limit_reached(TenantLimit::StreamsPerIdentity, limits.streams_per_identity));
        }
        if all >= limits.streams {
            return Err(Refusal::limit_reached(TenantLimit::Streams, limits.streams));
        }
        if counts.total >= self.0.max {
            return Err(Refusal::Exhausted(
                "too many streams are open (VMAFX_MAX_STREAMS); try again later".to_owned(),
            ));
        }
        counts.total += 1;
        let subjects = counts.tenants.entry(who.tenant.clone()).or_default();
        *subjects.entry(who.subject.clone()).or_default() += 1;
        drop(counts);
        let (tenant, subject) = (who.tenant.clone(), who.subject.clone());
        Ok(StreamPermit { streams: self.clone(), tenant, subject })
    }

    /// A poisoned lock is taken: no operation panics halfway through a change of the counts.
    fn counts(&self) -> MutexGuard<'_, StreamCounts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut counts = self.streams.counts();
        counts.total -= 1;
        let Some(subjects) = counts.tenants.get_mut(&self.tenant) else { return };
        if let Some(own) = subjects.get_mut(&self.subject) {
            *own -= 1;
            if *own == 0 {
                subjects.remove(&self.subject);
            }
        }
        if subjects.is_empty() {
            counts.tenants.remove(&self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::identity::{Role, Roles, SubjectSource};

    fn caller(tenant: &str, subject: &str) -> Identity {
        Identity {
            tenant: TenantId::new(tenant).unwrap(),
            subject: subject.to_owned(),
            source: SubjectSource::Platform,
            roles: Roles::of(&[Role::Reader]),
            calls_for_namespaces: false,
        }
    }

    const LIMITS: TenantLimits = TenantLimits {
        pending_jobs: 0,
        running_jobs: 0,
        stored_bytes: 0,
        nodes: 0,
        streams: 3,
        streams_per_identity: 2,
    };

    #[rstest]
    #[case::identity(&["a/one", "a/one"], "a/one", Some(TenantLimit::StreamsPerIdentity))]
    #[case::another_identity(&["a/one", "a/one"], "a/two", None)]
    #[case::tenant(&["a/one", "a/one", "a/two"], "a/three", Some(TenantLimit::Streams))]
    #[case::another_tenant(&["a/one", "a/one", "a/two"], "b/one", None)]
    fn a_caller_and_a_tenant_have_limits_of_their_own(
        #[case] open: &[&str],
        #[case] next: &str,
        #[case] refused: Option<TenantLimit>,
    ) {
        let streams = OpenStreams::new(100);
        let acquire = |who: &str| {
            let (tenant, subject) = who.split_once('/').unwrap();
            streams.acquire(&caller(tenant, subject), &LIMITS)
        };
        let held: Vec<_> = open.iter().map(|who| acquire(who).ok().unwrap()).collect();
        let found = match acquire(next).err() {
            Some(Refusal::LimitReached { limit, .. }) => Some(limit),
            Some(other) => panic!("{other}"),
            None => None,
        };
        assert_eq!(found, refused);
        drop(held);
        assert!(acquire(next).is_ok());
        assert_eq!(streams.counts().tenants.len(), 0);
    }

    #[test]
    fn the_number_of_all_streams_is_limited() {
        let streams = OpenStreams::new(1);
        let first = streams.acquire(&caller("a", "one"), &LIMITS);
        assert!(first.is_ok());
        let second = streams.acquire(&caller("b", "two"), &LIMITS).err().unwrap();
        assert!(
            matches!(&second, Refusal::Exhausted(text) if text.contains("VMAFX_MAX_STREAMS")),
            "{second}"
        );
        drop(first);
        assert!(streams.acquire(&caller("b", "two"), &LIMITS).is_ok());
    }
}
