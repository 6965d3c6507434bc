//! A clock that is set.

use vmafx_queue::clock::{ClockReading, Timestamp};

use super::Queue;

/// Smaller steps count once they add up to this, in milliseconds.
const MIN_STEP: i64 = 2000;

/// What the reference knows of the clock since it was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownClock {
    /// Wall clock minus uptime.
    offset: i64,
    /// The time of opening, by the clock as it is set now.
    opened_at: i64,
    opened: ClockReading,
}

impl KnownClock {
    fn open(reading: ClockReading) -> Self {
        Self { offset: offset(reading), opened_at: reading.wall.0, opened: reading }
    }
}

fn offset(reading: ClockReading) -> i64 {
    reading.wall.0 - i64::try_from(reading.uptime.as_millis()).unwrap()
}

impl Queue {
    /// Moves the times of unfinished jobs when the clock was set since the last call.
    pub(crate) fn follow(&mut self, reading: ClockReading) {
        let known = self.clock.get_or_insert_with(|| KnownClock::open(reading));
        let (step, opened_at) = (offset(reading) - known.offset, known.opened_at);
        if step.abs() < MIN_STEP {
            return;
        }
        known.offset += step;
        known.opened_at += step;
        for job in self.jobs.iter_mut().map(|entry| &mut entry.job).filter(|job| !job.state.is_final()) {
            let age = reading.wall.0 - job.created_at.0;
            let by = match step {
                1.. => step.min(age).max(0),
                _ if job.created_at.0 < opened_at => 0,
                _ => step,
            };
            let moved = |time: &mut Timestamp| *time = Timestamp(time.0.saturating_add(by));
            moved(&mut job.created_at);
            for time in [&mut job.started_at, &mut job.available_at, &mut job.deadline_at] {
                time.iter_mut().for_each(moved);
            }
            job.avoids.iter_mut().for_each(|avoided| moved(&mut avoided.until));
        }
        self.last_created = self.last_created.map(|last| Timestamp(last.0 + step));
    }

    /// Nothing is older than the time that passed since the store was opened.
    pub(super) fn now_for_ages(&self, reading: ClockReading) -> Timestamp {
        let opened = self.clock.map_or(reading, |known| known.opened);
        reading.wall.min(opened.wall + reading.uptime.saturating_sub(opened.uptime))
    }
}
