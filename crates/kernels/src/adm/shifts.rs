//! Fixed-point positions: where libvmaf rounds, and by how many bits.

use super::csf::Weights;
use super::geometry::{Axis, ceil_log2};
use super::overflow::MaskingOverflow;

/// Everything about one scale that kernels need beside the coefficients.
#[derive(Clone, Debug)]
pub(super) struct ScaleShifts {
    /// Shift after the transform's horizontal pass. The vertical one shifts by the depth at scale 0, by 0 at scale 1 and by 16 at
    /// scales 2 and 3.
    pub(super) horizontal: u32,
    /// Contrast sensitivity of the bands in fixed point.
    pub(super) weights: [u32; 3],
    /// Columns of a row of masking, from the first on, whose own shares do not wrap around.
    pub(super) exact_columns: usize,
    pub(super) cubes: CubeShifts,
    pub(super) contrast: ContrastShifts,
    /// Powers of two by which sums are divided in the end.
    pub(super) denominator: i32,
    pub(super) numerator: [i32; 3],
}

/// Sums of cubed coefficients. A row's sum is rounded before it is added to the total.
#[derive(Clone, Copy, Debug)]
pub(super) struct CubeShifts {
    /// Applied to squares, after adding `1 << square` and not half of that.
    pub(super) square: u32,
    pub(super) cube: u32,
    pub(super) row: u32,
}

/// Sums of cubed contrasts above the masking threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContrastShifts {
    /// Left shifts of the threshold, which bring it to the position of the weighted coefficients.
    pub(super) threshold: [u32; 3],
    pub(super) square: [u32; 3],
    pub(super) cube: [u32; 3],
    pub(super) row: u32,
}

/// Bits behind the point of [`ScaleShifts::weights`] at scale 0.
const FINE_WEIGHT_BITS: [i32; 3] = [21, 21, 23];
/// Watson's weights for 1080 rows at three heights, as libvmaf hard-codes them.
const FINE_WATSON_WEIGHTS: [u32; 3] = [36453, 36453, 49417];

impl ScaleShifts {
    /// Scale 0, whose coefficients have 16 bits.
    pub(super) fn fine(
        columns: &Axis,
        rows: &Axis,
        weights: Weights,
        overflow: MaskingOverflow,
        standard_watson: bool,
    ) -> Self {
        let row = ceil_log2(rows.band);
        let cube = ceil_log2(columns.band);
        let cube = [cube - 4, cube - 4, cube - 3];
        let area_shift = ceil_log2(columns.scored.len() * rows.scored.len()).saturating_sub(20);
        let fixed = |band: usize| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Truncated like libvmaf's.
            let weight = (f64::from(weights.bands()[band]) * 2_f64.powi(FINE_WEIGHT_BITS[band])) as u16;
            u32::from(weight)
        };
        Self {
            horizontal: 16,
            weights: if standard_watson { FINE_WATSON_WEIGHTS } else { [0, 1, 2].map(fixed) },
            exact_columns: columns.scored.start - columns.masking.start
                + overflow.exact_columns(columns.scored.len()),
            cubes: CubeShifts { square: 0, cube: 0, row: area_shift },
            contrast: ContrastShifts { threshold: [10, 10, 12], square: [29, 29, 30], cube, row },
            denominator: 18 - area_shift.cast_signed(),
            numerator: [0, 1, 2].map(|band| [52, 52, 57][band] - (cube[band] + row).cast_signed()),
        }
    }

    /// Scales 1 to 3, whose coefficients have 32 bits.
    pub(super) fn coarse(scale: usize, columns: &Axis, rows: &Axis, weights: Weights) -> Self {
        let index = scale - 1;
        let scored_columns = ceil_log2(columns.scored.len());
        let scored_rows = ceil_log2(rows.scored.len());
        let (cube, row) = (ceil_log2(columns.band), ceil_log2(rows.band));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Truncated like libvmaf's.
        let fixed = |weight: f32| (f64::from(weight) * 2_f64.powi(32)) as u32;
        Self {
            horizontal: [15, 16, 15][index],
            weights: weights.bands().map(fixed),
            exact_columns: columns.masking.len(),
            cubes: CubeShifts { square: [31, 30, 31][index], cube: scored_columns, row: scored_rows },
            contrast: ContrastShifts { threshold: [0; 3], square: [30; 3], cube: [cube; 3], row },
            denominator: [32, 27, 23][index] - (scored_columns + scored_rows).cast_signed(),
            numerator: [[45, 39, 36][index] - (cube + row).cast_signed(); 3],
        }
    }
}

/// `value / 2^shift`, rounded to the nearest, ties upwards.
pub(super) fn rounded(value: u64, shift: u32) -> u64 {
    (value + ((1 << shift) >> 1)) >> shift
}
