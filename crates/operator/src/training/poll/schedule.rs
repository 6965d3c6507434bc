//! When a trainer is polled again. Pure.
//!
//! | the trainer              | is polled again                                                       |
//! |--------------------------|-----------------------------------------------------------------------|
//! | learns                   | after the poll interval, a minute by default                          |
//! | reports something else   | after five seconds, so that the status soon shows that it learns      |
//! | does not answer          | after five seconds, then after twice as long each time, up to the poll interval: each poll of a trainer that is gone blocks a reconcile until it times out |

use std::time::Duration;

use vmafx_api::training::TrainingPhase;

use super::PollResult;

/// Poll interval of a trainer that does not learn yet.
const POLL_INTERVAL_BEFORE_LEARNING: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollSchedule {
    soon: Duration,
    interval: Duration,
}

impl PollSchedule {
    /// `interval` is the poll interval of a trainer that learns.
    pub fn new(interval: Duration) -> Self {
        Self { soon: POLL_INTERVAL_BEFORE_LEARNING.min(interval), interval }
    }

    /// The delay after a result; `before` is the result before it and the delay that followed.
    pub fn delay(&self, before: Option<(&PollResult, Duration)>, result: &PollResult) -> Duration {
        match (result, before) {
            (Ok(report), _) if report.phase == TrainingPhase::Running => self.interval,
            (Err(_), Some((Err(_), delay))) => self.interval.min(delay * 2),
            _ => self.soon,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TrainerReport;
    use super::*;

    #[test]
    fn soon_until_it_learns_and_with_growing_delays_while_it_does_not_answer() {
        let schedule = PollSchedule::new(Duration::from_mins(1));
        let reports = |phase| Ok(TrainerReport { phase, ..TrainerReport::default() });
        let silence: PollResult = Err("cannot be reached".to_owned());
        let results = [
            (silence.clone(), 5),
            (silence.clone(), 10),
            (reports(TrainingPhase::Initializing), 5),
            (reports(TrainingPhase::Initializing), 5),
            (reports(TrainingPhase::Running), 60),
            (silence.clone(), 5),
            (silence.clone(), 10),
            (silence.clone(), 20),
            (silence.clone(), 40),
            (silence.clone(), 60),
            (silence, 60),
            (reports(TrainingPhase::Failed), 5),
            (reports(TrainingPhase::Paused), 5),
        ];
        let mut before: Option<(PollResult, Duration)> = None;
        for (number, (result, seconds)) in results.into_iter().enumerate() {
            let last = before.as_ref().map(|(result, delay)| (result, *delay));
            let delay = schedule.delay(last, &result);
            assert_eq!(delay, Duration::from_secs(seconds), "result {number}");
            before = Some((result, delay));
        }
    }
}
