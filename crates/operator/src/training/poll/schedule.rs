//! How often a trainer is asked. Pure.
//!
//! | it                       | is asked again                                                        |
//! |--------------------------|-----------------------------------------------------------------------|
//! | learns                   | after a minute: nothing is urgent                                     |
//! | answers something else   | after five seconds, so that people see it begin                       |
//! | does not answer          | after five seconds, and twice as long each time up to a minute: one that is gone for good would hold up a worker for as long as it is waited for |

use std::time::Duration;

use vmafx_api::training::TrainingPhase;

use super::PollResult;

/// Until it learns.
const SOON: Duration = Duration::from_secs(5);

/// Between two questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollSchedule {
    soon: Duration,
    every: Duration,
}

impl PollSchedule {
    /// `every` is between two questions to a trainer that learns.
    pub fn new(every: Duration) -> Self {
        Self { soon: SOON.min(every), every }
    }

    /// How long to wait after an answer; `before` is the one before it, and how long was waited then.
    pub fn pause(&self, before: Option<(&PollResult, Duration)>, answer: &PollResult) -> Duration {
        match (answer, before) {
            (Ok(report), _) if report.phase == TrainingPhase::Running => self.every,
            (Err(_), Some((Err(_), pause))) => self.every.min(pause * 2),
            _ => self.soon,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TrainerReport;
    use super::*;

    #[test]
    fn soon_until_it_learns_and_more_and_more_rarely_when_nobody_answers() {
        let schedule = PollSchedule::new(Duration::from_mins(1));
        let says = |phase| Ok(TrainerReport { phase, ..TrainerReport::default() });
        let silence: PollResult = Err("cannot be reached".to_owned());
        let answers = [
            (silence.clone(), 5),
            (silence.clone(), 10),
            (says(TrainingPhase::Initializing), 5),
            (says(TrainingPhase::Initializing), 5),
            (says(TrainingPhase::Running), 60),
            (silence.clone(), 5),
            (silence.clone(), 10),
            (silence.clone(), 20),
            (silence.clone(), 40),
            (silence.clone(), 60),
            (silence, 60),
            (says(TrainingPhase::Failed), 5),
            (says(TrainingPhase::Paused), 5),
        ];
        let mut before: Option<(PollResult, Duration)> = None;
        for (number, (answer, seconds)) in answers.into_iter().enumerate() {
            let known = before.as_ref().map(|(answer, pause)| (answer, *pause));
            let pause = schedule.pause(known, &answer);
            assert_eq!(pause, Duration::from_secs(seconds), "answer {number}");
            before = Some((answer, pause));
        }
    }
}
