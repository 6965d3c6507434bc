//! When a checkpoint is taken. Pure.
//!
//! | state                               | a checkpoint is taken when                                           |
//! |-------------------------------------|----------------------------------------------------------------------|
//! | one is on its way to the registry   | that has ended                                                       |
//! | the last one did not get there      | a pause has passed that grows with each failure; then of all that is learned by then |
//! | none was ever written               | there are `min_samples`                                              |
//! | the last one is in the registry     | `interval` has passed since and there are `min_samples` new ones     |
//! | the process is leaving              | at once, if there is anything new, whatever interval and number say  |
//!
//! The last row is what makes a pause lose nothing: a pause is a trainer that is told to leave.

use std::time::Duration;

use tokio::time::Instant;

/// What the settings say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The least time between two checkpoints.
    pub interval: Duration,
    /// The least number of new samples.
    pub min_samples: u64,
}

/// The last checkpoint that reached the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// When; unknown is long ago.
    pub at: Option<Instant>,
    /// How many samples it had learned from.
    pub samples: u64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A checkpoint is due.
    Take,
    /// Nothing before this.
    At(Instant),
    /// Nothing until there are more samples, or the one on its way has ended.
    Wait,
}

/// What is known of checkpoints.
#[derive(Clone, Debug)]
pub struct Schedule {
    policy: Policy,
    last: Option<Last>,
    sending: bool,
    retry: Option<Instant>,
}

impl Schedule {
    /// After the checkpoint that was gone on from, if any.
    pub fn new(policy: Policy, last: Option<Last>) -> Self {
        Self { policy, last, sending: false, retry: None }
    }

    /// How many of these samples are in no checkpoint.
    pub fn pending(&self, samples: u64) -> u64 {
        samples.saturating_sub(self.last.map_or(0, |last| last.samples))
    }

    /// Whether one is on its way.
    pub fn is_sending(&self) -> bool {
        self.sending
    }

    /// One is on its way.
    pub fn sent(&mut self) {
        self.sending = true;
    }

    /// It arrived.
    pub fn arrived(&mut self, last: Last) {
        *self = Self { last: Some(last), sending: false, retry: None, ..*self };
    }

    /// It was something else than a checkpoint, and has ended.
    pub fn settled(&mut self) {
        self.sending = false;
    }

    /// It did not; the next attempt is not before `retry`.
    pub fn failed(&mut self, retry: Instant) {
        (self.sending, self.retry) = (false, Some(retry));
    }

    /// What is to be done with so many samples learned.
    pub fn decide(&self, samples: u64, now: Instant) -> Decision {
        if self.sending || self.pending(samples) < self.policy.min_samples {
            return Decision::Wait;
        }
        let interval = self.last.and_then(|last| last.at?.checked_add(self.policy.interval));
        match interval.into_iter().chain(self.retry).max() {
            Some(due) if due > now => Decision::At(due),
            _ => Decision::Take,
        }
    }

    /// The same for a process that is leaving.
    pub fn decide_last(&self, samples: u64) -> Decision {
        if self.sending || self.pending(samples) == 0 { Decision::Wait } else { Decision::Take }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const POLICY: Policy = Policy { interval: Duration::from_mins(10), min_samples: 100 };

    fn schedule(last: Option<(u64, u64)>, start: Instant) -> Schedule {
        let last = last.map(|(at, samples)| Last { at: Some(start + Duration::from_secs(at)), samples });
        Schedule::new(POLICY, last)
    }

    #[rstest]
    #[case::nothing_learned(None, 0, 0, Decision::Wait)]
    #[case::the_first_needs_samples(None, 99, 10_000, Decision::Wait)]
    #[case::and_nothing_else(None, 100, 0, Decision::Take)]
    #[case::both_must_hold(Some((0, 100)), 199, 10_000, Decision::Wait)]
    #[case::both_hold(Some((0, 100)), 200, 600, Decision::Take)]
    #[case::a_state_older_than_its_checkpoint(Some((0, 100)), 50, 600, Decision::Wait)]
    fn a_checkpoint_needs_time_and_samples(
        #[case] last: Option<(u64, u64)>,
        #[case] samples: u64,
        #[case] second: u64,
        #[case] expected: Decision,
    ) {
        let start = Instant::now();
        let now = start + Duration::from_secs(second);
        assert_eq!(schedule(last, start).decide(samples, now), expected);
    }

    #[test]
    fn with_enough_samples_it_waits_for_the_interval_only() {
        let start = Instant::now();
        let due = start + Duration::from_mins(10);
        let soon = start + Duration::from_secs(599);
        assert_eq!(schedule(Some((0, 100)), start).decide(300, soon), Decision::At(due));
    }

    #[test]
    fn one_of_an_unknown_time_is_long_ago() {
        let schedule = Schedule::new(POLICY, Some(Last { at: None, samples: 100 }));
        assert_eq!(schedule.decide(200, Instant::now()), Decision::Take);
    }

    #[test]
    fn one_at_a_time_and_after_a_failure_not_before_its_pause() {
        let start = Instant::now();
        let mut schedule = schedule(None, start);
        schedule.sent();
        assert_eq!(schedule.decide(500, start), Decision::Wait);
        let retry = start + Duration::from_secs(4);
        schedule.failed(retry);
        assert_eq!(schedule.decide(500, start), Decision::At(retry));
        assert_eq!(schedule.decide(500, retry), Decision::Take);
        schedule.sent();
        schedule.arrived(Last { at: Some(retry), samples: 500 });
        assert_eq!((schedule.pending(700), schedule.decide(599, retry)), (200, Decision::Wait));
        assert_eq!(schedule.decide(600, retry), Decision::At(retry + POLICY.interval));
    }

    #[rstest]
    #[case::nothing_new(100, false, Decision::Wait)]
    #[case::one_new_sample(101, false, Decision::Take)]
    #[case::one_is_on_its_way(101, true, Decision::Wait)]
    fn whoever_leaves_saves_whatever_is_new(
        #[case] samples: u64,
        #[case] sending: bool,
        #[case] expected: Decision,
    ) {
        let mut schedule = schedule(Some((0, 100)), Instant::now());
        schedule.failed(Instant::now() + Duration::from_mins(1));
        if sending {
            schedule.sent();
        }
        assert_eq!(schedule.decide_last(samples), expected);
    }
}
