//! Since when the controller does not answer, by the calls of all jobs together.
//!
//! An outage begins with the first call that fails and ends with the next answer to any call, or message of the live
//! stream. So it is measured from its beginning for every job, also for one that was created during it, and a call that
//! fails while the controller answers others is no outage: one of several controllers is being replaced, or has lost its
//! database. The stream is read or retried all the time, so an outage that is over does not stay recorded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::observe::Explanation;

/// An outage of the controller, as a failed call observed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerOutage {
    pub explanation: Explanation,
    /// The first failed call since the last answer. Another reason begins another outage: a controller that denies every
    /// call and then restarts was not away all the time.
    pub since: Instant,
}

#[derive(Debug)]
struct RecordedOutage {
    outage: ControllerOutage,
    last_failure: Instant,
}

/// Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct OutageRecord(Arc<Mutex<Option<RecordedOutage>>>);

impl OutageRecord {
    pub fn answered(&self) {
        *self.lock() = None;
    }

    pub fn failed(&self, explanation: Explanation) -> ControllerOutage {
        let (mut recorded, now) = (self.lock(), Instant::now());
        let before = recorded.as_ref().filter(|one| one.outage.explanation.reason == explanation.reason);
        let outage = ControllerOutage { since: before.map_or(now, |one| one.outage.since), explanation };
        *recorded = Some(RecordedOutage { outage: outage.clone(), last_failure: now });
        outage
    }

    /// The outage, if a call failed no longer ago than `period` and none was answered since.
    pub fn failed_within(&self, period: Duration) -> Option<ControllerOutage> {
        let recorded = self.lock();
        recorded.as_ref().filter(|one| one.last_failure.elapsed() < period).map(|one| one.outage.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<RecordedOutage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use vmafx_api::conditions::Reason;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn explanation(reason: Reason) -> Explanation {
        Explanation { reason, message: "no answer".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_lasts_from_its_first_failed_call_to_the_next_answer() {
        let (record, begin) = (OutageRecord::default(), Instant::now());
        assert_eq!(record.failed(explanation(Reason::ControllerUnreachable)).since, begin);
        tokio::time::advance(SECOND).await;
        assert_eq!(record.failed(explanation(Reason::ControllerUnreachable)).since, begin);
        record.answered();
        assert_eq!(record.failed_within(SECOND), None);
        assert_eq!(record.failed(explanation(Reason::ControllerUnreachable)).since, begin + SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn another_reason_is_another_outage() {
        let record = OutageRecord::default();
        record.failed(explanation(Reason::Forbidden));
        tokio::time::advance(SECOND).await;
        assert_eq!(record.failed(explanation(Reason::ControllerUnreachable)).since, Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_call_counts_for_other_jobs_only_for_a_while() {
        let record = OutageRecord::default();
        let outage = record.failed(explanation(Reason::ControllerUnreachable));
        assert_eq!(record.failed_within(SECOND), Some(outage));
        tokio::time::advance(SECOND).await;
        assert_eq!(record.failed_within(SECOND), None);
    }
}
