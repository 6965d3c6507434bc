//! Compares a frame with an earlier one, row by row: no plane of intermediate values is stored.

use super::scalar::{self, mirrored_after, mirrored_before};
#[cfg(target_arch = "x86_64")]
use super::vector::VectorRows;
use crate::simd::Simd;
use crate::{Plane, PlaneSample};

/// Rows that are kept while a frame is compared.
pub(super) trait Rows<T> {
    /// Stores the difference of row `y` in the earlier frame and of the new one, which replaces it.
    fn difference(&mut self, y: usize, earlier: &mut [T], row: &[T]);

    /// The sum of the blurred differences' magnitudes, from the last five rows at the most.
    fn sum(&mut self, rows: [usize; 5]) -> u64;
}

/// The specification's rows.
#[derive(Clone, Debug)]
pub(super) struct ScalarRows {
    depth: u32,
    /// By row modulo 5.
    differences: [Vec<i32>; 5],
    blurred: Vec<i32>,
}

impl ScalarRows {
    fn new(width: usize, depth: u32) -> Self {
        Self { depth, differences: [(); 5].map(|()| vec![0; width]), blurred: vec![0; width] }
    }
}

impl<T: PlaneSample> Rows<T> for ScalarRows {
    fn difference(&mut self, y: usize, earlier: &mut [T], row: &[T]) {
        scalar::difference(earlier, row, &mut self.differences[y % 5]);
    }

    fn sum(&mut self, rows: [usize; 5]) -> u64 {
        let rows = rows.map(|row| self.differences[row % 5].as_slice());
        scalar::vertical(self.depth, rows, &mut self.blurred);
        scalar::horizontal(&self.blurred)
    }
}

/// Samples that all kernels can compare.
pub(super) trait BlurredSample: PlaneSample {
    #[cfg(target_arch = "x86_64")]
    fn sum(rows: &mut VectorRows, earlier: &mut [Self], plane: &Plane<'_, Self>) -> u64;
}

impl BlurredSample for u8 {
    #[cfg(target_arch = "x86_64")]
    fn sum(rows: &mut VectorRows, earlier: &mut [Self], plane: &Plane<'_, Self>) -> u64 {
        sum(rows, earlier, plane)
    }
}

impl BlurredSample for u16 {
    #[cfg(target_arch = "x86_64")]
    fn sum(rows: &mut VectorRows, earlier: &mut [Self], plane: &Plane<'_, Self>) -> u64 {
        sum(rows, earlier, plane)
    }
}

#[derive(Clone, Debug)]
pub(super) enum Blur {
    Scalar(ScalarRows),
    #[cfg(target_arch = "x86_64")]
    Vector(VectorRows),
}

impl Blur {
    pub(super) fn new(simd: Simd, width: usize, depth: u32) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(rows) = VectorRows::new(simd, width, depth) {
            return Self::Vector(rows);
        }
        let _ = simd;
        Self::Scalar(ScalarRows::new(width, depth))
    }

    /// The sum of absolute differences of a frame and the earlier one in `earlier`, which it replaces. A frame without an
    /// earlier one is only stored.
    pub(super) fn compare<T: BlurredSample>(
        &mut self,
        earlier: &mut [T],
        plane: &Plane<'_, T>,
        first: bool,
    ) -> u64 {
        if first {
            for (y, earlier) in earlier.chunks_exact_mut(plane.width()).enumerate() {
                earlier.copy_from_slice(plane.row(y));
            }
            return 0;
        }
        match self {
            Self::Scalar(rows) => sum(rows, earlier, plane),
            #[cfg(target_arch = "x86_64")]
            Self::Vector(rows) => T::sum(rows, earlier, plane),
        }
    }
}

fn sum<T>(rows: &mut impl Rows<T>, earlier: &mut [T], plane: &Plane<'_, T>) -> u64 {
    let height = plane.height();
    let mut sum = 0;
    for (y, earlier) in earlier.chunks_exact_mut(plane.width()).enumerate() {
        rows.difference(y, earlier, plane.row(y));
        // The row two above has all its neighbours now, and the last two rows mirror theirs.
        let last = (y + 1 == height).then(|| [y - 1, y]);
        for y in y.checked_sub(2).into_iter().chain(last.into_iter().flatten()) {
            sum += rows.sum([
                mirrored_before(y, 2),
                mirrored_before(y, 1),
                y,
                mirrored_after(y + 1, height),
                mirrored_after(y + 2, height),
            ]);
        }
    }
    sum
}
