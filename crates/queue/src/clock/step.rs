//! Steps of the wall clock, and what they do to the times of jobs.
//!
//! Jobs are stored with wall-clock times, because only those survive a restart and can be compared with other programs'.
//! How much time passed is measured by the uptime, which nobody can set:
//!
//! | event                                                    | wall clock | uptime       | step |
//! |----------------------------------------------------------|------------|--------------|------|
//! | time passes, or the machine sleeps                       | moves on   | moves on     | no   |
//! | NTP or an administrator sets the clock                   | jumps      | moves on     | yes  |
//! | a paused virtual machine goes on and its clock is set    | jumps      | stood still  | yes  |
//!
//! When the clock was set, the times of unfinished jobs move with it, so that every job keeps its age and what is left
//! until its deadline and the end of its back-off:
//!
//! | step  | the job was stored                | its times move by                     | guarded by                                         |
//! |-------|-----------------------------------|---------------------------------------|----------------------------------------------------|
//! | ahead | since the start of the controller | the step                              | `a_step_ahead_fails_no_job_before_its_time`        |
//! | back  | since the start of the controller | the step                              | `a_step_back_lets_deadlines_end_in_time`           |
//! | ahead | before                            | the step, but not into the future     | `a_corrected_clock_moves_no_job_into_the_future`   |
//! | back  | before                            | nothing                               | `a_job_of_an_earlier_start_loses_no_time`          |
//!
//! A job from before the start may carry the right time although the clock was wrong at the start, so its deadline never
//! comes earlier by a step.

use std::time::Duration;

use super::{ClockReading, Timestamp};

/// Smaller steps are ignored until they add up to this. It is more than [`super::SystemClock`] waits out.
const MIN_STEP: Duration = Duration::from_secs(2);

/// Compares the wall clock with the uptime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// Wall clock minus uptime.
    offset_millis: i64,
    /// When the store was opened, by the clock as it is set now.
    opened_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockStep {
    /// Negative when the clock was set back.
    pub(crate) millis: i64,
    /// The time after the step.
    pub(crate) now: Timestamp,
    /// When the store was opened, by the clock before the step.
    pub(crate) opened_at: Timestamp,
}

impl Timeline {
    pub(crate) fn start(reading: ClockReading) -> Self {
        Self { offset_millis: offset_millis(reading), opened_at: reading.wall }
    }

    /// Takes over steps that were noticed elsewhere.
    pub(crate) fn adopt(&mut self, millis: i64) {
        self.offset_millis = self.offset_millis.saturating_add(millis);
        self.opened_at = Timestamp(self.opened_at.0.saturating_add(millis));
    }

    /// The step since the last one, if there was one.
    pub(crate) fn follow(&mut self, reading: ClockReading) -> Option<ClockStep> {
        let offset = offset_millis(reading);
        let millis = offset.saturating_sub(self.offset_millis);
        if u128::from(millis.unsigned_abs()) < MIN_STEP.as_millis() {
            return None;
        }
        let step = ClockStep { millis, now: reading.wall, opened_at: self.opened_at };
        self.adopt(millis);
        Some(step)
    }
}

fn offset_millis(reading: ClockReading) -> i64 {
    reading.wall.0.saturating_sub(i64::try_from(reading.uptime.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn reading(wall: i64, uptime: u64) -> ClockReading {
        ClockReading { wall: Timestamp(wall), uptime: Duration::from_millis(uptime) }
    }

    #[rstest]
    #[case::time_passes(reading(105_000, 5_000), None)]
    #[case::eight_hours_of_sleep(reading(28_900_000, 28_800_000), None)]
    #[case::waited_out(reading(104_000, 5_000), None)]
    #[case::small(reading(106_999, 5_000), None)]
    #[case::ahead(reading(705_000, 5_000), Some(600_000))]
    #[case::back(reading(-495_000, 5_000), Some(-600_000))]
    #[case::a_paused_machine(reading(3_700_000, 0), Some(3_600_000))]
    fn only_a_difference_of_both_clocks_is_a_step(
        #[case] reading_later: ClockReading,
        #[case] expected: Option<i64>,
    ) {
        let mut timeline = Timeline::start(reading(100_000, 0));
        assert_eq!(timeline.follow(reading_later).map(|step| step.millis), expected);
        assert_eq!(timeline.follow(reading_later), None, "a step is noticed once");
    }

    #[test]
    fn small_steps_add_up() {
        let mut timeline = Timeline::start(reading(0, 0));
        assert_eq!(timeline.follow(reading(1_500, 0)), None);
        assert_eq!(timeline.follow(reading(3_000, 0)).map(|step| step.millis), Some(3_000));
    }

    #[test]
    fn the_start_moves_with_the_clock() {
        let mut timeline = Timeline::start(reading(100_000, 0));
        let ahead = ClockStep { millis: 600_000, now: Timestamp(700_000), opened_at: Timestamp(100_000) };
        assert_eq!(timeline.follow(reading(700_000, 0)), Some(ahead));
        let back = ClockStep { millis: -600_000, now: Timestamp(100_000), opened_at: Timestamp(700_000) };
        assert_eq!(timeline.follow(reading(100_000, 0)), Some(back));
    }

    #[rstest]
    #[case::time_passes(reading(105_000, 5_000), 105_000)]
    #[case::set_ahead(reading(705_000, 5_000), 105_000)]
    #[case::set_back(reading(50_000, 5_000), 50_000)]
    fn ages_never_grow_by_a_step(#[case] later: ClockReading, #[case] expected: i64) {
        assert_eq!(later.for_ages(reading(100_000, 0)), Timestamp(expected));
    }
}
