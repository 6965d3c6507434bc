//! How often workloads were replaced of late.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What is older does not count.
const WINDOW: Duration = Duration::from_mins(10);

/// By the UID of the resource. In memory alone: a new operator begins again, which bounds it all the same.
#[derive(Debug, Default)]
pub(super) struct Replacements(Mutex<HashMap<String, VecDeque<Instant>>>);

impl Replacements {
    pub(super) fn record(&self, owner: &str, now: Instant) {
        self.with(now, |times| times.entry(owner.to_owned()).or_default().push_back(now));
    }

    /// How many there were within the window.
    pub(super) fn count(&self, owner: &str, now: Instant) -> usize {
        self.with(now, |times| times.get(owner).map_or(0, VecDeque::len))
    }

    /// How long until the oldest no longer counts.
    pub(super) fn until_fewer(&self, owner: &str, now: Instant) -> Duration {
        self.with(now, |times| {
            let oldest = times.get(owner).and_then(VecDeque::front);
            oldest.map_or(Duration::ZERO, |oldest| (*oldest + WINDOW).saturating_duration_since(now))
        })
    }

    fn with<T>(&self, now: Instant, look: impl FnOnce(&mut HashMap<String, VecDeque<Instant>>) -> T) -> T {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.retain(|_, times| {
            times.retain(|time| now.saturating_duration_since(*time) < WINDOW);
            !times.is_empty()
        });
        look(&mut times)
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
        assert_eq!(replacements.count("a", minute(9)), 2);
        assert_eq!(replacements.until_fewer("a", minute(9)), Duration::from_mins(1));
        assert_eq!(replacements.count("a", minute(10)), 1);
        assert_eq!(replacements.count("a", minute(14)), 0);
        assert!(replacements.0.lock().unwrap().is_empty(), "nothing is kept for ever");
    }
}
