//! When a checkpoint is taken. Pure.
//!
//! | state                                | a checkpoint is taken                                                    |
//! |--------------------------------------|--------------------------------------------------------------------------|
//! | an upload is in progress             | not before it has ended                                                  |
//! | the last upload failed               | after a retry delay that grows with each failure, of the current state   |
//! | there is no checkpoint yet           | once there are `min_samples`                                             |
//! | the last checkpoint was pushed       | `interval` later, once there are `min_samples` new ones                  |
//! | the process is shutting down         | at once if there is any new sample, regardless of the policy             |
//!
//! Because of the last row, a pause loses nothing: pausing a run shuts its trainer down.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointPolicy {
    /// Minimum time between two checkpoints.
    pub interval: Duration,
    /// Minimum number of new samples.
    pub min_samples: u64,
}

/// The last checkpoint that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCheckpoint {
    /// `None` if the checkpoint is older than the machine's uptime; then the interval has passed.
    pub at: Option<Instant>,
    /// Number of samples that it contains.
    pub samples: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointDecision {
    /// A checkpoint is due.
    Take,
    /// A checkpoint is due at this time.
    At(Instant),
    /// None is due before more samples arrive or the current upload ends.
    Wait,
}

#[derive(Clone, Debug)]
pub struct CheckpointSchedule {
    policy: CheckpointPolicy,
    last: Option<LastCheckpoint>,
    uploading: bool,
    retry_at: Option<Instant>,
}

impl CheckpointSchedule {
    pub fn new(policy: CheckpointPolicy, last: Option<LastCheckpoint>) -> Self {
        Self { policy, last, uploading: false, retry_at: None }
    }

    /// How many of so many samples no checkpoint contains.
    pub fn pending(&self, samples: u64) -> u64 {
        samples.saturating_sub(self.last.map_or(0, |last| last.samples))
    }

    pub fn is_uploading(&self) -> bool {
        self.uploading
    }

    pub fn upload_started(&mut self) {
        self.uploading = true;
    }

    pub fn checkpoint_pushed(&mut self, last: LastCheckpoint) {
        *self = Self { last: Some(last), uploading: false, retry_at: None, ..*self };
    }

    /// A move of the stable tag alone has ended, successfully or not.
    pub fn promotion_ended(&mut self) {
        self.uploading = false;
    }

    pub fn push_failed(&mut self, retry_at: Instant) {
        (self.uploading, self.retry_at) = (false, Some(retry_at));
    }

    /// The decision after so many samples.
    pub fn decide(&self, samples: u64, now: Instant) -> CheckpointDecision {
        if self.uploading || self.pending(samples) < self.policy.min_samples {
            return CheckpointDecision::Wait;
        }
        let interval_end = self.last.and_then(|last| last.at?.checked_add(self.policy.interval));
        match interval_end.into_iter().chain(self.retry_at).max() {
            Some(due) if due > now => CheckpointDecision::At(due),
            _ => CheckpointDecision::Take,
        }
    }

    /// The decision for a process that is shutting down.
    pub fn decide_at_shutdown(&self, samples: u64) -> CheckpointDecision {
        if self.uploading || self.pending(samples) == 0 {
            CheckpointDecision::Wait
        } else {
            CheckpointDecision::Take
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const POLICY: CheckpointPolicy = CheckpointPolicy { interval: Duration::from_mins(10), min_samples: 100 };

    fn schedule(last: Option<(u64, u64)>, start: Instant) -> CheckpointSchedule {
        let last =
            last.map(|(at, samples)| LastCheckpoint { at: Some(start + Duration::from_secs(at)), samples });
        CheckpointSchedule::new(POLICY, last)
    }

    #[rstest]
    #[case::nothing_learned(None, 0, 0, CheckpointDecision::Wait)]
    #[case::the_first_needs_samples(None, 99, 10_000, CheckpointDecision::Wait)]
    #[case::and_nothing_else(None, 100, 0, CheckpointDecision::Take)]
    #[case::both_must_hold(Some((0, 100)), 199, 10_000, CheckpointDecision::Wait)]
    #[case::both_hold(Some((0, 100)), 200, 600, CheckpointDecision::Take)]
    #[case::a_state_older_than_its_checkpoint(Some((0, 100)), 50, 600, CheckpointDecision::Wait)]
    fn a_checkpoint_needs_time_and_samples(
        #[case] last: Option<(u64, u64)>,
        #[case] samples: u64,
        #[case] second: u64,
        #[case] expected: CheckpointDecision,
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
        assert_eq!(schedule(Some((0, 100)), start).decide(300, soon), CheckpointDecision::At(due));
    }

    #[test]
    fn a_checkpoint_of_unknown_time_does_not_delay_the_next() {
        let schedule = CheckpointSchedule::new(POLICY, Some(LastCheckpoint { at: None, samples: 100 }));
        assert_eq!(schedule.decide(200, Instant::now()), CheckpointDecision::Take);
    }

    #[test]
    fn one_upload_runs_at_a_time_and_a_failed_one_is_retried_after_its_delay() {
        let start = Instant::now();
        let mut schedule = schedule(None, start);
        schedule.upload_started();
        assert_eq!(schedule.decide(500, start), CheckpointDecision::Wait);
        let retry_at = start + Duration::from_secs(4);
        schedule.push_failed(retry_at);
        assert_eq!(schedule.decide(500, start), CheckpointDecision::At(retry_at));
        assert_eq!(schedule.decide(500, retry_at), CheckpointDecision::Take);
        schedule.upload_started();
        schedule.checkpoint_pushed(LastCheckpoint { at: Some(retry_at), samples: 500 });
        assert_eq!((schedule.pending(700), schedule.decide(599, retry_at)), (200, CheckpointDecision::Wait));
        assert_eq!(schedule.decide(600, retry_at), CheckpointDecision::At(retry_at + POLICY.interval));
    }

    #[rstest]
    #[case::nothing_new(100, false, CheckpointDecision::Wait)]
    #[case::one_new_sample(101, false, CheckpointDecision::Take)]
    #[case::an_upload_in_progress(101, true, CheckpointDecision::Wait)]
    fn a_shutdown_saves_every_new_sample(
        #[case] samples: u64,
        #[case] uploading: bool,
        #[case] expected: CheckpointDecision,
    ) {
        let mut schedule = schedule(Some((0, 100)), Instant::now());
        schedule.push_failed(Instant::now() + Duration::from_mins(1));
        if uploading {
            schedule.upload_started();
        }
        assert_eq!(schedule.decide_at_shutdown(samples), expected);
    }
}
