//! The mean luma of the cells of a picture.

use std::ops::Range;

use vmafx_job::BitDepth;
use vmafx_kernels::{Plane, PlaneSample};

use crate::picture::cell;

const COLUMNS: usize = 32;
const ROWS: usize = 18;
pub(super) const CELLS: usize = COLUMNS * ROWS;

/// Rows of samples that are read of each row of cells. All samples of a row are read, because memory is read in lines.
const SAMPLED_ROWS: usize = 2;

/// The means in levels of eight bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellMeans(pub(super) [u8; CELLS]);

impl CellMeans {
    pub(crate) fn of<T: PlaneSample + Into<u32>>(luma: &Plane<'_, T>, depth: BitDepth) -> Self {
        let shift = depth.bits() - BitDepth::Eight.bits();
        let columns: [Range<usize>; COLUMNS] =
            std::array::from_fn(|column| cell(column, COLUMNS, luma.width()));
        let mut means = [0; CELLS];
        for (row, means) in means.chunks_exact_mut(COLUMNS).enumerate() {
            let lines = cell(row, ROWS, luma.height());
            let mut sums = [0_u32; COLUMNS];
            for sampled in 0..SAMPLED_ROWS {
                // In the middle of as many equal bands.
                let line = lines.start + (2 * sampled + 1) * lines.len() / (2 * SAMPLED_ROWS);
                let samples = luma.row(line);
                for (sum, column) in sums.iter_mut().zip(&columns) {
                    *sum += samples[column.clone()].iter().map(|&sample| sample.into()).sum::<u32>();
                }
            }
            for ((mean, sum), column) in means.iter_mut().zip(sums).zip(&columns) {
                let count = u32::try_from(column.len() * SAMPLED_ROWS).unwrap_or(u32::MAX);
                // A sample beyond its bit depth is the only one whose mean does not fit.
                *mean = u8::try_from((sum / count) >> shift).unwrap_or(u8::MAX);
            }
        }
        Self(means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(width: usize, height: usize, scale: u16) -> Vec<u16> {
        (0..width * height).map(|at| u16::try_from((at % width) * 255 / width).unwrap() * scale).collect()
    }

    #[test]
    fn cells_have_the_means_of_their_samples() {
        let samples = ramp(640, 360, 1);
        let plane = Plane::new(&samples, 640, 640, 360).unwrap();
        let means = CellMeans::of(&plane, BitDepth::Eight);
        // The samples of the second column of cells are 20 * 255 / 640 to 39 * 255 / 640.
        assert_eq!((means.0[0], means.0[1], means.0[COLUMNS - 1]), (3, 11, 250));
        assert_eq!(means.0[..COLUMNS], means.0[CELLS - COLUMNS..]);
    }

    #[test]
    fn the_bit_depth_does_not_change_a_mean() {
        let (eight, ten) = (ramp(100, 50, 1), ramp(100, 50, 4));
        let bytes: Vec<u8> = eight.iter().map(|&sample| u8::try_from(sample).unwrap()).collect();
        let narrow = CellMeans::of(&Plane::new(&bytes, 100, 100, 50).unwrap(), BitDepth::Eight);
        let wide = CellMeans::of(&Plane::new(&ten, 100, 100, 50).unwrap(), BitDepth::Ten);
        assert_eq!(narrow, wide);
    }

    #[test]
    fn a_picture_smaller_than_its_cells_has_all_of_them() {
        let samples: Vec<u8> = (0..16 * 9).collect();
        let means = CellMeans::of(&Plane::new(&samples, 16, 16, 9).unwrap(), BitDepth::Eight);
        assert_eq!((means.0[0], means.0[2], means.0[2 * COLUMNS]), (0, 1, 16));
    }
}
