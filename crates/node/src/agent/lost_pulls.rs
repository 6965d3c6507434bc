//! Pulls of which this node will never read an answer.
//!
//! A controller may have assigned a job to such a pull, so it is named to the controller, which then takes the job back. It
//! is named for a while, because the controller may find a job for it later: it does not always notice that the connection
//! is gone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

/// Much longer than a controller waits for a job and then for its store: a claim that was sent into a broken network may
/// reach the store when the network is back.
const NAMED_FOR: Duration = Duration::from_mins(10);

/// The most that a call may name.
const MAX_NAMED: usize = 64;

/// Clones share one list.
#[derive(Clone, Debug, Default)]
pub(super) struct LostPulls(Arc<Mutex<VecDeque<LostPull>>>);

#[derive(Debug)]
struct LostPull {
    id: String,
    session: String,
    since: Instant,
}

/// A pull in flight. It counts as lost when it is dropped, unless it was answered.
#[derive(Debug)]
pub(super) struct PullInFlight {
    lost: LostPulls,
    id: String,
    session: String,
    answered: bool,
}

impl LostPulls {
    pub(super) fn begin(&self, session: &str) -> PullInFlight {
        let (id, session) = (Uuid::new_v4().to_string(), session.to_owned());
        PullInFlight { lost: self.clone(), id, session, answered: false }
    }

    /// The pulls to name in a call of this session.
    pub(super) fn of_session(&self, session: &str) -> Vec<String> {
        let mut lost = self.lock();
        lost.retain(|pull| pull.since.elapsed() < NAMED_FOR);
        let of_session = lost.iter().rev().filter(|pull| pull.session == session);
        of_session.take(MAX_NAMED).map(|pull| pull.id.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LostPull>> {
        // Every change is one operation, so the list is consistent even if its last holder panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PullInFlight {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for PullInFlight {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let (id, session) = (std::mem::take(&mut self.id), std::mem::take(&mut self.session));
        let mut lost = self.lost.lock();
        while lost.len() >= 2 * MAX_NAMED {
            lost.pop_front();
        }
        lost.push_back(LostPull { id, session, since: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pull_without_an_answer_is_named_for_a_while() {
        let lost = LostPulls::default();
        let (first, second) = (lost.begin("s"), lost.begin("s"));
        let id = first.id().to_owned();
        assert_ne!(id, second.id());
        second.answered();
        drop(first);
        drop(lost.begin("another session"));
        assert_eq!(lost.of_session("s"), std::slice::from_ref(&id));
        tokio::time::advance(NAMED_FOR.mul_f64(0.9)).await;
        assert_eq!(lost.of_session("s"), [id]);
        tokio::time::advance(NAMED_FOR.mul_f64(0.1)).await;
        assert_eq!(lost.of_session("s"), [""; 0]);
    }

    #[tokio::test]
    async fn the_latest_are_named_when_there_are_too_many() {
        let lost = LostPulls::default();
        let ids: Vec<String> = (0..300)
            .map(|_| {
                let pull = lost.begin("s");
                pull.id().to_owned()
            })
            .collect();
        let named = lost.of_session("s");
        assert_eq!(named.len(), MAX_NAMED);
        assert_eq!(named.first(), ids.last());
    }
}
