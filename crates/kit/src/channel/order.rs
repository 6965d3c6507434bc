//! Which address is dialled first, and when. Pure.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

use crate::random;

/// An address that failed is an address like any other after this time.
const FAILURE_MEMORY: Duration = Duration::from_mins(1);

const FIRST_DELAY: Duration = Duration::from_millis(100);
/// A call waits for the next dial, so this must be much shorter than the timeout of a call.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// When each address last failed: the connection could not be made, broke, or its server did not serve.
pub(super) type Failures = HashMap<SocketAddr, Instant>;

/// Sorts addresses that have not failed first, in an order that `random` selects, so that clients spread over all servers;
/// then the others, beginning with the one that failed longest ago.
pub(super) fn sort_by_preference<T>(
    candidates: &mut [(T, SocketAddr)],
    failures: &Failures,
    now: Instant,
    mut random: impl FnMut() -> f64,
) {
    let failure = |address: &SocketAddr| {
        failures.get(address).copied().filter(|at| now.saturating_duration_since(*at) < FAILURE_MEMORY)
    };
    // `None`, for an address that has not failed, is less than any time.
    candidates.sort_by_cached_key(|(_, address)| (failure(address), (random() * 1e9).to_bits()));
}

/// How long to wait before the next dial after `failures` failed dials or refused calls in a row. The first one is
/// answered at once, because another server may be fine.
pub(super) fn dial_delay(failures: u32, fraction: f64) -> Duration {
    let Some(doublings) = failures.checked_sub(2) else { return Duration::ZERO };
    let delay = FIRST_DELAY.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(MAX_DELAY);
    random::jittered(delay, 0.5, fraction).min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn address(number: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, number], 9090))
    }

    #[rstest]
    #[case::nothing_failed(&[], &[0.7, 0.1, 0.4], &[2, 3, 1])]
    #[case::the_failed_one_is_last(&[(2, 5)], &[0.7, 0.1, 0.4], &[3, 1, 2])]
    #[case::all_failed_oldest_first(&[(1, 2), (2, 9), (3, 5)], &[0.7, 0.1, 0.4], &[2, 3, 1])]
    #[case::forgotten_after_a_minute(&[(2, 60)], &[0.7, 0.1, 0.4], &[2, 3, 1])]
    fn addresses_are_tried_in_this_order(
        #[case] failed_seconds_ago: &[(u8, u64)],
        #[case] random: &[f64],
        #[case] expected: &[u8],
    ) {
        let now = Instant::now() + Duration::from_hours(1);
        let ago = |(number, seconds): &(u8, u64)| (address(*number), now - Duration::from_secs(*seconds));
        let failures = failed_seconds_ago.iter().map(ago).collect();
        let mut candidates = [1, 2, 3].map(|number| (number, address(number)));
        let mut numbers = random.iter().copied();
        sort_by_preference(&mut candidates, &failures, now, || numbers.next().unwrap());
        assert_eq!(candidates.map(|(number, _)| number), expected);
    }

    #[rstest]
    #[case::no_failure(0, 0.5, 0)]
    #[case::the_first_is_answered_at_once(1, 0.5, 0)]
    #[case::second(2, 0.5, 100)]
    #[case::shortest(2, 0.0, 50)]
    #[case::third(3, 0.5, 200)]
    #[case::sixth(6, 0.5, 1600)]
    #[case::at_most(7, 0.5, 2000)]
    #[case::never_longer(u32::MAX, 0.99, 2000)]
    fn the_delay_doubles_up_to_its_maximum(
        #[case] failures: u32,
        #[case] fraction: f64,
        #[case] milliseconds: u64,
    ) {
        assert_eq!(dial_delay(failures, fraction), Duration::from_millis(milliseconds));
    }
}
