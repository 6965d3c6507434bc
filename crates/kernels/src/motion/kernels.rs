//! Compares a frame with an earlier one, row by row: no plane of intermediate values is stored.

use super::scalar::{self, mirrored_after, mirrored_before};
use crate::simd::Simd;
use crate::{Plane, Sample};

/// Buffers of one frame's width.
#[derive(Clone, Debug)]
pub(super) struct Blur {
    depth: u32,
    /// Of the last five rows, by row modulo 5.
    differences: [Vec<i32>; 5],
    blurred: Vec<i32>,
}

impl Blur {
    pub(super) fn new(_: Simd, width: usize, depth: u32) -> Self {
        Self { depth, differences: [(); 5].map(|()| vec![0; width]), blurred: vec![0; width] }
    }

    /// The sum of absolute differences of a frame and the earlier one in `earlier`, which it replaces. A frame without an
    /// earlier one is only stored.
    pub(super) fn compare<T: Sample>(&mut self, earlier: &mut [T], plane: &Plane<'_, T>, first: bool) -> u64 {
        let (width, height) = (plane.width(), plane.height());
        let mut sum = 0;
        for (y, earlier) in earlier.chunks_exact_mut(width).enumerate() {
            if first {
                earlier.copy_from_slice(plane.row(y));
                continue;
            }
            scalar::difference(earlier, plane.row(y), &mut self.differences[y % 5]);
            let last = (y + 1 == height).then(|| [y.saturating_sub(1), y]);
            for complete in y.checked_sub(2).into_iter().chain(last.into_iter().flatten()) {
                sum += self.row(complete, height);
            }
        }
        sum
    }

    /// Row `y`, of which the differences of the two rows above and below are there.
    fn row(&mut self, y: usize, height: usize) -> u64 {
        let rows = [
            mirrored_before(y, 2),
            mirrored_before(y, 1),
            y,
            mirrored_after(y + 1, height),
            mirrored_after(y + 2, height),
        ];
        let rows = rows.map(|row| self.differences[row % 5].as_slice());
        scalar::vertical(self.depth, rows, &mut self.blurred);
        scalar::horizontal(&self.blurred)
    }
}
