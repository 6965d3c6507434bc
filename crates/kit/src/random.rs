//! Random numbers for jitter, which need not be unpredictable.

use std::time::Duration;

use uuid::Uuid;

/// At least 0 and less than 1.
pub(crate) fn fraction() -> f64 {
    // The lower bits of a random UUID are random; 32 of them fit a float exactly.
    let bits = u32::try_from(Uuid::new_v4().as_u128() & u128::from(u32::MAX)).unwrap_or_default();
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

/// `duration` changed by at most `share` of itself, up or down, as `fraction` selects.
pub(crate) fn jittered(duration: Duration, share: f64, fraction: f64) -> Duration {
    duration.mul_f64(share.mul_add(2.0 * fraction - 1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_fraction_is_below_one() {
        assert!((0..1000).map(|_| fraction()).all(|fraction| (0.0..1.0).contains(&fraction)));
    }

    #[rstest]
    #[case::shortest(0.0, 540)]
    #[case::middle(0.5, 600)]
    #[case::almost_the_longest(0.75, 630)]
    fn jitter_stays_within_its_share(#[case] fraction: f64, #[case] seconds: u64) {
        let jittered = jittered(Duration::from_mins(10), 0.1, fraction);
        assert_eq!(jittered.as_millis(), u128::from(seconds) * 1000);
    }
}
