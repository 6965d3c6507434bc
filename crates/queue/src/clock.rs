//! The clock that leases, deadlines and back-offs are measured with.

mod step;

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

pub(crate) use self::step::{ClockStep, Timeline};

/// An instant: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time since `earlier`; zero when `earlier` is later than this.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }
}

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Time that passed since some fixed point. Nobody can set it, and the sleep of the machine counts.
    fn uptime(&self) -> Duration;

    /// Both times of the same instant.
    fn reading(&self) -> ClockReading {
        ClockReading { wall: self.now(), uptime: self.uptime() }
    }
}

/// Times of one instant by the clock that can be set and by the one that cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    pub wall: Timestamp,
    pub uptime: Duration,
}

impl ClockReading {
    /// The time that ages are counted up to. After the clock was set ahead, nothing is older than the time that really
    /// passed since `start`; after it was set back, everything is younger.
    pub(crate) fn for_ages(self, start: Self) -> Timestamp {
        self.wall.min(start.wall + self.uptime.saturating_sub(start.uptime))
    }
}

/// The system time at start-up, advanced by the monotonic clock: it measures durations and never jumps. It stops while
/// the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub struct SteadyClock {
    started: Instant,
    at: Timestamp,
}

impl SteadyClock {
    /// Reads the system clock once.
    pub fn start() -> Self {
        Self { started: Instant::now(), at: wall_time() }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        self.at + self.started.elapsed()
    }

    fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The system clock. It is followed in both directions, because other programs compare our timestamps with it: after the
/// sleep of a laptop, the pause of a virtual machine and the correction of a wrong clock.
///
/// Small corrections backwards are waited out, so that they change the order of nothing. A larger step is taken at once.
/// No lease depends on that: the sweep renews all of them when it sees the time jump ([`crate::policy::Policy::max_sweep_gap`]).
#[derive(Debug)]
pub struct SystemClock(AtomicI64);

impl Default for SystemClock {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let mut last = self.0.load(Ordering::Relaxed);
        loop {
            let next = follow(Timestamp(last), wall_time());
            match self.0.compare_exchange_weak(last, next.0, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(newer) => last = newer,
            }
        }
    }

    fn uptime(&self) -> Duration {
        let time = clock_gettime(ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
        Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
    }

    /// A process that is stopped between two reads would see a step that never was, so such a reading is repeated.
    fn reading(&self) -> ClockReading {
        loop {
            let before = self.uptime();
            let reading = ClockReading { wall: self.now(), uptime: self.uptime() };
            if reading.uptime.saturating_sub(before) < MAX_READING_TIME {
                return reading;
            }
        }
    }
}

/// Time between the reads of one reading; far below the smallest step that is noticed.
const MAX_READING_TIME: Duration = Duration::from_millis(500);

/// Corrections backwards up to this length are waited out.
const MAX_WAITED_OUT: Duration = Duration::from_secs(1);

/// The time to tell after `last` was told, when the system clock shows `wall`.
fn follow(last: Timestamp, wall: Timestamp) -> Timestamp {
    if wall < last && last.since(wall) <= MAX_WAITED_OUT { last } else { wall }
}

fn wall_time() -> Timestamp {
    Timestamp(0) + SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Creation times in the order of the creations, by which jobs are claimed and listed: after the clock was set back, new
/// jobs get the time of the last one until the clock has caught up. A job that was created more than an hour ahead of the
/// clock had a wrong time, which no other job follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreationOrder(Timestamp);

impl Default for CreationOrder {
    fn default() -> Self {
        Self(Timestamp(i64::MIN))
    }
}

impl CreationOrder {
    const MAX_AHEAD: Duration = Duration::from_hours(1);

    /// The creation time of a job that is stored now; [`Self::record`] follows when it was stored.
    pub(crate) fn next(self, now: Timestamp) -> Timestamp {
        if self.0 < now || self.0.since(now) > Self::MAX_AHEAD { now } else { self.0 }
    }

    pub(crate) fn record(&mut self, created_at: Timestamp) {
        self.0 = created_at;
    }

    /// The jobs so far moved with a step of the clock.
    pub(crate) fn follow(&mut self, step_millis: i64) {
        self.0 = Timestamp(self.0.0.saturating_add(step_millis));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;

    #[rstest]
    #[case::first_reading(i64::MIN, 7, 7)]
    #[case::time_passes(1_000, 1_250, 1_250)]
    #[case::jitter(1_000, 990, 1_000)]
    #[case::a_second_back(1_000, 0, 1_000)]
    #[case::more_than_a_second_back(10_000, 8_999, 8_999)]
    #[case::ten_minutes_back(10 * MINUTE, 0, 0)]
    #[case::ten_minutes_ahead(0, 10 * MINUTE, 10 * MINUTE)]
    #[case::eight_hours_of_sleep(0, 8 * HOUR, 8 * HOUR)]
    #[case::eight_hours_back(8 * HOUR, 0, 0)]
    fn the_wall_clock_is_followed_in_both_directions(
        #[case] last: i64,
        #[case] wall: i64,
        #[case] told: i64,
    ) {
        assert_eq!(follow(Timestamp(last), Timestamp(wall)), Timestamp(told));
    }

    #[test]
    fn the_system_clock_never_goes_back_by_itself() {
        let clock = SystemClock::default();
        let first = clock.now();
        assert!((0..1000).map(|_| clock.now()).is_sorted());
        assert!(clock.now() >= first && clock.now().since(wall_time()) < Duration::from_secs(1));
    }

    #[rstest]
    #[case::time_passes(&[1, 2, 5], &[1, 2, 5])]
    #[case::set_back(&[10 * MINUTE, 0, MINUTE], &[10 * MINUTE, 10 * MINUTE, 10 * MINUTE])]
    #[case::caught_up(&[10 * MINUTE, 0, 11 * MINUTE], &[10 * MINUTE, 10 * MINUTE, 11 * MINUTE])]
    #[case::an_hour_back(&[HOUR, 0], &[HOUR, HOUR])]
    #[case::more_than_an_hour_back(&[HOUR + 1, 0], &[HOUR + 1, 0])]
    fn creations_keep_their_order(#[case] clock: &[i64], #[case] expected: &[i64]) {
        let mut order = CreationOrder::default();
        let create = |now: &i64| {
            let created_at = order.next(Timestamp(*now));
            order.record(created_at);
            created_at.0
        };
        let told: Vec<i64> = clock.iter().map(create).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn lengths_before_the_start_are_nothing() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
        assert_eq!(Timestamp(9).since(Timestamp(5)), Duration::from_millis(4));
    }

    #[test]
    fn the_ends_of_time_do_not_wrap() {
        assert_eq!(Timestamp(i64::MAX) + Duration::MAX, Timestamp(i64::MAX));
        assert_eq!(Timestamp(0) - Duration::MAX, Timestamp(-i64::MAX));
    }
}
