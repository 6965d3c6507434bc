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
