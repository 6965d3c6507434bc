//! How often the workload of each resource was replaced in the last ten minutes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_mins(10);

/// By the UID of the resource. In memory only: the count starts again with the operator, and is bounded all the same.
#[derive(Debug, Default)]
pub(super) struct Replacements(Mutex<HashMap<String, VecDeque<Instant>>>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentReplacements {
    pub count: usize,
    /// Time until the oldest replacement no longer counts.
    pub until_fewer: Duration,
}

impl Replacements {
    pub(super) fn record(&self, owner: &str, now: Instant) {
        self.with(now, |times| times.entry(owner.to_owned()).or_default().push_back(now));
    }

    pub(super) fn recent(&self, owner: &str, now: Instant) -> RecentReplacements {
        self.with(now, |times| {
            let times = times.get(owner);
            let oldest = times.and_then(VecDeque::front);
            RecentReplacements {
                count: times.map_or(0, VecDeque::len),
                until_fewer: oldest
                    .map_or(Duration::ZERO, |oldest| (*oldest + WINDOW).saturating_duration_since(now)),
            }
        })
    }

    fn with<T>(&self, now: Instant, read: impl FnOnce(&mut HashMap<String, VecDeque<Instant>>) -> T) -> T {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.retain(|_, times| {
            times.retain(|time| now.saturating_duration_since(*time) < WINDOW);
            !times.is_empty()
        });
        read(&mut times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_of_the_last_ten_minutes_count_and_each_owner_alone() {
        let (replacements, start) = (Replacements::default(), Instant::now());
        let minute = |number: u64| start + Duration::from_mins(number);
        replacements.record("a", minute(0));
        replacements.record("a", minute(4));
        replacements.record("b", minute(4));
        let recent = RecentReplacements { count: 2, until_fewer: Duration::from_mins(1) };
        assert_eq!(replacements.recent("a", minute(9)), recent);
        assert_eq!(replacements.recent("a", minute(10)).count, 1);
        assert_eq!(replacements.recent("a", minute(14)), RecentReplacements::default());
        assert!(replacements.0.lock().unwrap().is_empty(), "nothing is kept for ever");
    }
}
