//! The windows of the four scales.

pub(super) const SCALES: usize = 4;

/// The length of the longest window.
pub(super) const MAX_TAPS: usize = 17;

const TAPS: [&[u16]; SCALES] = [
    &[489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489],
    &[1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244],
    &[3571, 16004, 26386, 16004, 3571],
    &[10904, 43728, 10904],
];

/// The weights of a scale's window. They add up to 65536.
pub(super) const fn taps(scale: usize) -> &'static [u16] {
    TAPS[scale]
}

/// How far the window reaches from its centre.
pub(super) const fn reach(scale: usize) -> usize {
    TAPS[scale].len() / 2
}

/// The number of pairs of neighbours on either side of a pair that the windows of both samples of the pair touch.
pub(super) const fn reach_in_pairs(scale: usize) -> usize {
    reach(scale).div_ceil(2)
}

/// The number of pairs that the windows of both samples of a pair touch.
pub(super) const fn pairs(scale: usize) -> usize {
    2 * reach_in_pairs(scale) + 1
}

/// The largest number of pairs.
pub(super) const MAX_PAIRS: usize = pairs(0);

/// The weights of pair `pair` in the window of the first (`parity` 0) or second sample of the middle pair, as the instruction
/// for products of pairs takes them. They are signed words, in which the one weight above 32767 wraps: see [`is_wrapped`].
#[allow(clippy::cast_possible_wrap)]
pub(super) const fn pair_weights(scale: usize, pair: usize, parity: usize) -> i32 {
    let first = (2 * pair + reach(scale)).wrapping_sub(2 * reach_in_pairs(scale) + parity);
    (weight(scale, first) | weight(scale, first.wrapping_add(1)) << 16) as i32
}

const fn weight(scale: usize, tap: usize) -> u32 {
    let taps = TAPS[scale];
    if tap < taps.len() { taps[tap] as u32 } else { 0 }
}

/// Whether the weight of the centre is too large for a signed word, and 65536 times the centre must be added.
pub(super) const fn is_wrapped(scale: usize) -> bool {
    TAPS[scale][reach(scale)] > i16::MAX.cast_unsigned()
}

/// The sample in a row or column of `length` samples that stands for `position`, which may be outside by less than `length`.
pub(super) fn mirror(position: isize, length: usize) -> usize {
    let inside = position.unsigned_abs();
    if inside < length { inside } else { 2 * (length - 1) - inside }
}

#[cfg(test)]
mod tests {
    use super::{SCALES, mirror, taps};

    #[test]
    fn the_weights_of_a_window_are_symmetric_and_add_up_to_65536() {
        for scale in 0..SCALES {
            let taps = taps(scale);
            assert_eq!(taps.iter().map(|tap| u32::from(*tap)).sum::<u32>(), 65536);
            assert!(taps.iter().eq(taps.iter().rev()));
        }
    }

    #[test]
    fn the_outermost_sample_is_not_repeated() {
        let row: Vec<_> = (-3..8).map(|position| mirror(position, 5)).collect();
        assert_eq!(row, [3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1]);
    }
}
