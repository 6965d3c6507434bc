//! Short clips of many qualities, derived from a golden one. Pure: the same number gives the same bytes.

const WIDTH: usize = 160;
const HEIGHT: usize = 90;
const LUMA: usize = WIDTH * HEIGHT;
const FRAME: usize = LUMA * 3 / 2;

/// Frames of each clip: enough for motion, and quick to score.
const FRAMES: usize = 3;

/// Number of references, each a different part of the golden clip.
pub(super) const REFERENCES: usize = 4;

pub(super) fn reference(golden: &[u8], number: usize) -> Vec<u8> {
    let start = number * 11 * FRAME;
    golden[start..start + FRAMES * FRAME].to_vec()
}

/// The clip with blur, quantization and noise that depend on the number.
pub(super) fn distorted(reference: &[u8], number: usize) -> Vec<u8> {
    let (blur, step, noise) = (number % 5, [1, 6, 14, 24, 40][number / 5 % 5], [0, 12][number / 25 % 2]);
    let mut random = 1 + u32::try_from(number).unwrap_or_default();
    let mut clip = reference.to_vec();
    for frame in clip.chunks_mut(FRAME) {
        let sums = SummedAreaTable::of(&frame[..LUMA]);
        for (index, pixel) in frame[..LUMA].iter_mut().enumerate() {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let jitter = i32::try_from(random >> 16).unwrap_or_default() % (2 * noise + 1) - noise;
            let smooth = sums.mean(index, blur);
            *pixel =
                u8::try_from((smooth / step * step + step / 2 + jitter).clamp(0, 255)).unwrap_or_default();
        }
    }
    clip
}

/// A summed-area table: sums of all pixels above and to the left, so the sum of any rectangle takes four look-ups.
struct SummedAreaTable(Vec<i32>);

impl SummedAreaTable {
    fn of(luma: &[u8]) -> Self {
        let mut sums = vec![0; (WIDTH + 1) * (HEIGHT + 1)];
        for (row, pixels) in luma.chunks(WIDTH).enumerate() {
            let mut sum = 0;
            for (column, pixel) in pixels.iter().enumerate() {
                sum += i32::from(*pixel);
                sums[corner(column + 1, row + 1)] = sum + sums[corner(column + 1, row)];
            }
        }
        Self(sums)
    }

    /// Mean of the pixels within `radius` of one, cut at the edges.
    fn mean(&self, index: usize, radius: usize) -> i32 {
        let (column, row) = (index % WIDTH, index / WIDTH);
        let (left, top) = (column.saturating_sub(radius), row.saturating_sub(radius));
        let (right, bottom) = ((column + radius + 1).min(WIDTH), (row + radius + 1).min(HEIGHT));
        let at = |column, row| self.0[corner(column, row)];
        let sum = at(right, bottom) - at(left, bottom) - at(right, top) + at(left, top);
        sum / i32::try_from((right - left) * (bottom - top)).unwrap_or(1)
    }
}

fn corner(column: usize, row: usize) -> usize {
    row * (WIDTH + 1) + column
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn picture() -> Vec<u8> {
        (0..LUMA).map(|index| u8::try_from(index * 7 % 251).unwrap()).collect()
    }

    #[rstest]
    #[case::of_itself(WIDTH + 1, 0)]
    #[case::in_a_corner(0, 3)]
    #[case::in_the_last_corner(LUMA - 1, 4)]
    #[case::in_the_middle(WIDTH * 40 + 80, 2)]
    fn a_mean_is_that_of_the_pixels_around(#[case] index: usize, #[case] radius: usize) {
        let picture = picture();
        let near = |a: usize, b: usize| a.abs_diff(b) <= radius;
        let around = |other: &usize| near(other % WIDTH, index % WIDTH) && near(other / WIDTH, index / WIDTH);
        let around: Vec<_> = (0..LUMA).filter(around).map(|other| i32::from(picture[other])).collect();
        let expected = around.iter().sum::<i32>() / i32::try_from(around.len()).unwrap();
        assert_eq!(SummedAreaTable::of(&picture).mean(index, radius), expected);
    }

    #[test]
    fn each_number_is_another_clip_and_always_the_same() {
        let reference = [picture(), vec![128; FRAME - LUMA]].concat();
        let all: std::collections::BTreeSet<_> =
            (0..50).map(|number| distorted(&reference, number)).collect();
        assert_eq!(all.len(), 50);
        assert!(all.contains(&distorted(&reference, 49)));
    }
}
