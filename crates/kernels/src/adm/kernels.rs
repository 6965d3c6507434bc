//! The kernels by the type of what they read, for the instruction set that was chosen.
//!
//! Rows of coefficients may be longer than what is computed ([`padded`]): kernels of an instruction set work in whole vectors and
//! leave anything behind the end.

use super::scalar;
use super::shifts::ScaleShifts;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::simd::{Simd, dispatch};

/// Length of a row of coefficients in memory, so that whole vectors fit from any of its first elements.
pub(super) fn padded(length: usize) -> usize {
    length.next_multiple_of(64) + 64
}

/// Rows of an image that a scale transforms.
pub(super) trait CoefficientSource: Copy + Default {
    type Coefficient: Coefficient;

    /// The vertical pass of the wavelet transform.
    fn vertical(
        simd: Simd,
        depth: u32,
        rows: [&[Self]; 4],
        low: &mut [Self::Coefficient],
        high: &mut [Self::Coefficient],
    );
}

/// Coefficients of scale 0, `i16`, or of the others, `i32`. Bands are in the order horizontal, vertical, diagonal.
pub(super) trait Coefficient: Copy + Default + Send {
    /// The horizontal pass of the wavelet transform, from a row that starts one sample before the first coefficient's own.
    fn horizontal(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        source: &[Self],
        low: &mut [Self],
        high: &mut [Self],
    );

    fn decouple(
        simd: Simd,
        gain: u32,
        length: usize,
        images: [[&[Self]; 3]; 2],
        restored: [&mut [Self]; 3],
        added: [&mut [Self]; 3],
    );

    fn cubes(simd: Simd, shifts: &ScaleShifts, length: usize, bands: [&[Self]; 3]) -> [u64; 3];

    fn masking(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        bands: [&[Self]; 3],
        shares: &mut [i32],
        excesses: &mut [i32],
    );

    fn contrast(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        bands: [&[Self]; 3],
        shares: [&[i32]; 3],
        excesses: &[i32],
    ) -> [u64; 3];
}

impl CoefficientSource for u8 {
    type Coefficient = i16;

    fn vertical(simd: Simd, depth: u32, rows: [&[Self]; 4], low: &mut [i16], high: &mut [i16]) {
        dispatch!(
            simd,
            scalar::vertical_samples(depth, rows, low, high),
            avx2::vertical_bytes(rows, low, high),
            avx512::vertical_bytes(rows, low, high)
        );
    }
}

impl CoefficientSource for u16 {
    type Coefficient = i16;

    fn vertical(simd: Simd, depth: u32, rows: [&[Self]; 4], low: &mut [i16], high: &mut [i16]) {
        dispatch!(
            simd,
            scalar::vertical_samples(depth, rows, low, high),
            avx2::vertical_words(depth, rows, low, high),
            avx512::vertical_words(depth, rows, low, high)
        );
    }
}

impl CoefficientSource for i16 {
    type Coefficient = i32;

    fn vertical(simd: Simd, _: u32, rows: [&[Self]; 4], low: &mut [i32], high: &mut [i32]) {
        dispatch!(
            simd,
            scalar::vertical_widening(rows, low, high),
            avx2::vertical_widening(rows, low, high),
            avx512::vertical_widening(rows, low, high)
        );
    }
}

impl CoefficientSource for i32 {
    type Coefficient = i32;

    fn vertical(simd: Simd, _: u32, rows: [&[Self]; 4], low: &mut [i32], high: &mut [i32]) {
        dispatch!(
            simd,
            scalar::vertical_coarse(rows, low, high),
            avx2::vertical_coarse(rows, low, high),
            avx512::vertical_coarse(rows, low, high)
        );
    }
}

fn cut<T>(length: usize, bands: [&[T]; 3]) -> [&[T]; 3] {
    bands.map(|band| &band[..length])
}

impl Coefficient for i16 {
    fn horizontal(
        simd: Simd,
        _: &ScaleShifts,
        length: usize,
        source: &[i16],
        low: &mut [i16],
        high: &mut [i16],
    ) {
        dispatch!(
            simd,
            scalar::horizontal_fine(source, &mut low[..length], &mut high[..length]),
            avx2::horizontal_fine(length, source, low, high),
            avx512::horizontal_fine(length, source, low, high)
        );
    }

    fn decouple(
        simd: Simd,
        gain: u32,
        length: usize,
        [reference, distorted]: [[&[i16]; 3]; 2],
        restored: [&mut [i16]; 3],
        added: [&mut [i16]; 3],
    ) {
        dispatch!(
            simd,
            scalar::decouple_fine(gain, cut(length, reference), distorted, restored, added),
            avx2::decouple_fine(gain, length, reference, distorted, restored, added),
            avx512::decouple_fine(gain, length, reference, distorted, restored, added)
        );
    }

    fn cubes(simd: Simd, _: &ScaleShifts, length: usize, bands: [&[i16]; 3]) -> [u64; 3] {
        dispatch!(
            simd,
            scalar::cubes_fine(cut(length, bands)),
            avx2::cubes_fine(length, bands),
            avx512::cubes_fine(length, bands)
        )
    }

    fn masking(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        bands: [&[i16]; 3],
        shares: &mut [i32],
        excesses: &mut [i32],
    ) {
        dispatch!(
            simd,
            scalar::masking_fine(shifts.weights, cut(length, bands), shares, excesses),
            avx2::masking_fine(shifts.weights, length, bands, shares, excesses),
            avx512::masking_fine(shifts.weights, length, bands, shares, excesses)
        );
        let wrapping = bands.map(|band| &band[shifts.exact_columns..length]);
        scalar::wrap_fifteenths(shifts.weights, wrapping, &mut excesses[shifts.exact_columns..]);
    }

    fn contrast(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        bands: [&[i16]; 3],
        shares: [&[i32]; 3],
        excesses: &[i32],
    ) -> [u64; 3] {
        dispatch!(
            simd,
            scalar::contrast_fine(shifts.weights, &shifts.contrast, cut(length, bands), shares, excesses),
            avx2::contrast_fine(shifts.weights, &shifts.contrast, length, bands, shares, excesses),
            avx512::contrast_fine(shifts.weights, &shifts.contrast, length, bands, shares, excesses)
        )
    }
}

impl Coefficient for i32 {
    fn horizontal(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        source: &[i32],
        low: &mut [i32],
        high: &mut [i32],
    ) {
        dispatch!(
            simd,
            scalar::horizontal_coarse(shifts.horizontal, source, &mut low[..length], &mut high[..length]),
            avx2::horizontal_coarse(shifts.horizontal, length, source, low, high),
            avx512::horizontal_coarse(shifts.horizontal, length, source, low, high)
        );
    }

    fn decouple(
        simd: Simd,
        gain: u32,
        length: usize,
        [reference, distorted]: [[&[i32]; 3]; 2],
        restored: [&mut [i32]; 3],
        added: [&mut [i32]; 3],
    ) {
        dispatch!(
            simd,
            scalar::decouple_coarse(gain, cut(length, reference), distorted, restored, added),
            avx2::decouple_coarse(gain, length, reference, distorted, restored, added),
            avx512::decouple_coarse(gain, length, reference, distorted, restored, added)
        );
    }

    fn cubes(simd: Simd, shifts: &ScaleShifts, length: usize, bands: [&[i32]; 3]) -> [u64; 3] {
        dispatch!(
            simd,
            scalar::cubes_coarse(&shifts.cubes, cut(length, bands)),
            avx2::cubes_coarse(&shifts.cubes, length, bands),
            avx512::cubes_coarse(&shifts.cubes, length, bands)
        )
    }

    fn masking(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        bands: [&[i32]; 3],
        shares: &mut [i32],
        excesses: &mut [i32],
    ) {
        dispatch!(
            simd,
            scalar::masking_coarse(shifts.weights, cut(length, bands), shares, excesses),
            avx2::masking_coarse(shifts.weights, length, bands, shares, excesses),
            avx512::masking_coarse(shifts.weights, length, bands, shares, excesses)
        );
    }

    fn contrast(
        simd: Simd,
        shifts: &ScaleShifts,
        length: usize,
        bands: [&[i32]; 3],
        shares: [&[i32]; 3],
        excesses: &[i32],
    ) -> [u64; 3] {
        dispatch!(
            simd,
            scalar::contrast_coarse(shifts.weights, &shifts.contrast, cut(length, bands), shares, excesses),
            avx2::contrast_coarse(shifts.weights, &shifts.contrast, length, bands, shares, excesses),
            avx512::contrast_coarse(shifts.weights, &shifts.contrast, length, bands, shares, excesses)
        )
    }
}
