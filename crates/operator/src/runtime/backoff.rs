//! How long to wait after a failure, for each key by itself.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::error::Retry;

/// How often each key has failed in a row.
#[derive(Debug)]
pub struct Backoff<K>(HashMap<K, u32>);

impl<K> Default for Backoff<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Backoff<K> {
    /// It failed again: the pause until the next try. `chance` between 0 and 1 spreads those who failed together.
    pub fn failed(&mut self, key: K, retry: Retry, chance: f64) -> Duration {
        let failures = self.0.entry(key).or_default();
        let doublings = *failures;
        *failures = failures.saturating_add(1);
        let (first, longest) = match retry {
            Retry::Soon => (Duration::from_millis(50), Duration::from_secs(5)),
            Retry::Later => (Duration::from_millis(500), Duration::from_mins(1)),
            Retry::Slowly => (Duration::from_secs(15), Duration::from_mins(5)),
        };
        let pause = 2_u32.checked_pow(doublings).and_then(|factor| first.checked_mul(factor));
        pause.unwrap_or(longest).min(longest).mul_f64(0.75 + chance.clamp(0.0, 1.0) / 2.0)
    }

    /// It succeeded, or is gone.
    pub fn forget(&mut self, key: &K) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Retry::Soon, 50, 5_000)]
    #[case(Retry::Later, 500, 60_000)]
    #[case(Retry::Slowly, 15_000, 300_000)]
    fn pauses_double_up_to_a_limit_and_begin_anew_after_success(
        #[case] retry: Retry,
        #[case] first: u64,
        #[case] longest: u64,
    ) {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(first));
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(2 * first));
        assert_eq!(backoff.failed("b", retry, 0.5), Duration::from_millis(first), "each by itself");
        for _ in 0..100 {
            backoff.failed("a", retry, 0.5);
        }
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(longest));
        backoff.forget(&"a");
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(first));
    }

    #[test]
    fn those_who_fail_together_do_not_come_back_together() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.failed("a", Retry::Later, 0.0), Duration::from_millis(375));
        assert_eq!(backoff.failed("b", Retry::Later, 1.0), Duration::from_millis(625));
    }
}
