//! How much a frame differs from the frames before it.

use std::collections::VecDeque;

use super::cells::{CELLS, CellMeans};
use crate::score::chunk::LEAD;

/// How many frames before a frame it is compared with: all that a chunk reads before its first.
#[expect(clippy::cast_possible_truncation, reason = "it is 4")]
pub(super) const REACH: usize = LEAD as usize;

/// A frame compared with those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FrameDifference {
    /// The mean difference of the cells to the frame before, the one before that, and so on, in levels of eight bits; infinite
    /// where the clip has no such frame.
    pub(super) changes: [f32; REACH],
    /// The correlation of the cells with those of the frame before; 0 if there is none or one of both is plain.
    pub(super) correlation: f32,
}

/// Compares frames that follow each other.
#[derive(Debug, Default)]
pub(crate) struct DifferenceMeter {
    /// The latest first.
    before: VecDeque<CellMeans>,
}

impl DifferenceMeter {
    pub(crate) fn push(&mut self, frame: CellMeans) -> FrameDifference {
        let mut changes = [f32::INFINITY; REACH];
        for (change, before) in changes.iter_mut().zip(&self.before) {
            *change = mean_difference(&frame, before);
        }
        let correlation = self.before.front().map_or(0.0, |before| correlation(&frame, before));
        self.before.truncate(REACH - 1);
        self.before.push_front(frame);
        FrameDifference { changes, correlation }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sums of cells are far below 2^24")]
fn mean_difference(a: &CellMeans, b: &CellMeans) -> f32 {
    let sum: u32 = a.0.iter().zip(&b.0).map(|(&a, &b)| u32::from(a.abs_diff(b))).sum();
    sum as f32 / CELLS as f32
}

/// Pearson's correlation. A variance of one level is added to both, so that noise on plain pictures does not correlate.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "exact up to 2^53")]
fn correlation(a: &CellMeans, b: &CellMeans) -> f32 {
    let sum = |values: &mut dyn Iterator<Item = u32>| u64::from(values.sum::<u32>());
    let (sum_a, sum_b) = (sum(&mut a.0.iter().map(|&a| a.into())), sum(&mut b.0.iter().map(|&b| b.into())));
    let product = |a: &CellMeans, b: &CellMeans| {
        u64::from(a.0.iter().zip(&b.0).map(|(&a, &b)| u32::from(a) * u32::from(b)).sum::<u32>())
    };
    let cells = CELLS as f64;
    let covariance =
        |product: u64, a: u64, b: u64| product as f64 / cells - (a as f64 / cells) * (b as f64 / cells);
    let variance_a = covariance(product(a, a), sum_a, sum_a) + 1.0;
    let variance_b = covariance(product(b, b), sum_b, sum_b) + 1.0;
    (covariance(product(a, b), sum_a, sum_b) / (variance_a * variance_b).sqrt()) as f32
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Values are exact.
mod tests {
    use super::*;

    fn plain(level: u8) -> CellMeans {
        CellMeans([level; CELLS])
    }

    /// Cells that rise, from `low` on.
    fn ramp(low: u8) -> CellMeans {
        CellMeans(std::array::from_fn(|cell| low + u8::try_from(cell / 4).unwrap()))
    }

    #[test]
    fn a_frame_is_compared_with_the_four_before() {
        let mut meter = DifferenceMeter::default();
        let levels = [10, 20, 40, 80, 90, 100];
        let changes: Vec<_> = levels.into_iter().map(|level| meter.push(plain(level)).changes).collect();
        assert_eq!(changes[0], [f32::INFINITY; REACH]);
        assert_eq!(changes[1], [10.0, f32::INFINITY, f32::INFINITY, f32::INFINITY]);
        assert_eq!(changes[5], [10.0, 20.0, 60.0, 80.0]);
    }

    #[test]
    fn the_same_structure_in_other_light_correlates() {
        let brighter = correlation(&ramp(0), &ramp(60));
        assert!(brighter > 0.99, "{brighter}");
        let inverse = CellMeans(ramp(0).0.map(|level| 200 - level));
        assert!(correlation(&ramp(0), &inverse) < -0.99);
    }

    #[test]
    fn plain_frames_do_not_correlate() {
        assert_eq!(correlation(&plain(16), &plain(235)), 0.0);
        assert_eq!(correlation(&plain(16), &ramp(16)), 0.0);
    }

    #[test]
    fn a_meter_that_starts_four_frames_earlier_finds_the_same() {
        let frames: Vec<_> = [0, 37, 74, 21, 58, 5, 42, 79, 26, 63, 10, 47, 84, 31, 68].map(ramp).into();
        let measured = |from: usize| {
            let mut meter = DifferenceMeter::default();
            frames[from..].iter().map(|frame| meter.push(frame.clone())).collect::<Vec<_>>()
        };
        let whole = measured(0);
        for first in REACH..frames.len() {
            assert_eq!(measured(first - REACH)[REACH..], whole[first..], "from frame {first} on");
        }
        assert_ne!(measured(5)[REACH - 1], whole[5 + REACH - 1], "three frames are not enough");
    }
}
