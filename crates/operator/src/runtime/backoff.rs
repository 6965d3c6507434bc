//! Retry delays, per key.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::error::Retry;

/// Consecutive failures of each key.
#[derive(Debug)]
pub struct Backoff<K>(HashMap<K, u32>);

impl<K> Default for Backoff<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Backoff<K> {
    /// Counts a failure and returns the delay until the next try. `jitter`, from 0 to 1, spreads keys that failed together.
    pub fn failed(&mut self, key: K, retry: Retry, jitter: f64) -> Duration {
        let failures = self.0.entry(key).or_default();
        let doublings = *failures;
        *failures = failures.saturating_add(1);
        let (first, maximum) = match retry {
            Retry::Soon => (Duration::from_millis(50), Duration::from_secs(5)),
            Retry::Later => (Duration::from_millis(500), Duration::from_mins(1)),
            Retry::Slowly => (Duration::from_secs(15), Duration::from_mins(5)),
        };
        let delay = 2_u32.checked_pow(doublings).and_then(|factor| first.checked_mul(factor));
        delay.unwrap_or(maximum).min(maximum).mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    /// The key succeeded or is gone: its next failure has the first delay again.
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
    fn delays_double_up_to_a_maximum_and_start_again_after_success(
        #[case] retry: Retry,
        #[case] first: u64,
        #[case] maximum: u64,
    ) {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(first));
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(2 * first));
        assert_eq!(backoff.failed("b", retry, 0.5), Duration::from_millis(first), "each key by itself");
        for _ in 0..100 {
            backoff.failed("a", retry, 0.5);
        }
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(maximum));
        backoff.forget(&"a");
        assert_eq!(backoff.failed("a", retry, 0.5), Duration::from_millis(first));
    }

    #[test]
    fn keys_that_fail_together_are_not_retried_together() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.failed("a", Retry::Later, 0.0), Duration::from_millis(375));
        assert_eq!(backoff.failed("b", Retry::Later, 1.0), Duration::from_millis(625));
    }
}
