//! Cubed contrasts above the masking threshold, summed over a row.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::_mm_loadu_si128;

use super::{first_lanes, load32, sum64, weighted};
use crate::adm::contrast::contrast;
use crate::adm::shifts::ContrastShifts;
use crate::vectors::vectors;

/// The sum of three rows of shares.
#[target_feature(enable = "avx2")]
#[inline]
fn columns(rows: [&[[i32; 8]]; 3], x: usize) -> __m256i {
    _mm256_add_epi32(_mm256_add_epi32(load32(&rows[0][x]), load32(&rows[1][x])), load32(&rows[2][x]))
}

/// The threshold of each lane: the sums of three columns, of which the last ones are in the next vector, and what the lane itself
/// has more.
#[target_feature(enable = "avx2")]
#[inline]
fn threshold(columns: __m256i, next: __m256i, excesses: &[i32; 8]) -> __m256i {
    let halves = _mm256_permute2x128_si256::<0x21>(columns, next);
    let second = _mm256_alignr_epi8::<4>(halves, columns);
    let third = _mm256_alignr_epi8::<8>(halves, columns);
    let own = _mm256_add_epi32(columns, load32(excesses));
    _mm256_add_epi32(own, _mm256_add_epi32(second, third))
}

#[target_feature(enable = "avx2")]
fn splat(value: u32) -> __m256i {
    _mm256_set1_epi32(value.cast_signed())
}

/// Rounding and shifts of one band.
#[derive(Clone, Copy)]
struct Cubes {
    threshold: __m128i,
    square_rounding: __m256i,
    square: __m128i,
    cube_rounding: __m256i,
    cube: __m128i,
}

impl Cubes {
    #[target_feature(enable = "avx2")]
    fn new(shifts: &ContrastShifts, band: usize) -> Self {
        let count = |shift: u32| _mm_cvtsi32_si128(shift.cast_signed());
        let half = |shift: u32| _mm256_set1_epi64x((1 << shift) >> 1);
        Self {
            threshold: count(shifts.threshold[band]),
            square_rounding: half(shifts.square[band]),
            square: count(shifts.square[band]),
            cube_rounding: half(shifts.cube[band]),
            cube: count(shifts.cube[band]),
        }
    }

    /// Adds the cubes of `weighted` above the threshold, in the lanes of the mask.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn add(&self, weighted: __m256i, threshold: __m256i, mask: __m256i, sum: __m256i) -> __m256i {
        let threshold = _mm256_sll_epi32(threshold, self.threshold);
        let contrast = _mm256_sub_epi32(_mm256_abs_epi32(weighted), threshold);
        let contrast = _mm256_and_si256(_mm256_max_epi32(contrast, _mm256_setzero_si256()), mask);
        let [even, odd] = [contrast, _mm256_srli_epi64::<32>(contrast)];
        _mm256_add_epi64(sum, _mm256_add_epi64(self.cubes(even), self.cubes(odd)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn cubes(&self, contrast: __m256i) -> __m256i {
        let squares = _mm256_add_epi64(_mm256_mul_epu32(contrast, contrast), self.square_rounding);
        let squares = _mm256_srl_epi64(squares, self.square);
        let cubes = _mm256_add_epi64(_mm256_mul_epu32(squares, contrast), self.cube_rounding);
        _mm256_srl_epi64(cubes, self.cube)
    }
}

#[target_feature(enable = "avx2")]
fn weighted_fine(coefficients: &[i16; 8], weight: __m256i) -> __m256i {
    _mm256_mullo_epi32(_mm256_cvtepi16_epi32(_mm_loadu_si128(coefficients)), weight)
}

#[target_feature(enable = "avx2")]
fn weighted_coarse(coefficients: &[i32; 8], weight: __m256i) -> __m256i {
    weighted(load32(coefficients), weight)
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn contrast_fine(
    weights: [u32; 3],
    shifts: &ContrastShifts,
    length: usize,
    bands: [&[i16]; 3],
    shares: [&[i32]; 3],
    excesses: &[i32],
) -> [u64; 3] {
    contrast!(8, weights, shifts, length, bands, shares, excesses, weighted_fine)
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn contrast_coarse(
    weights: [u32; 3],
    shifts: &ContrastShifts,
    length: usize,
    bands: [&[i32]; 3],
    shares: [&[i32]; 3],
    excesses: &[i32],
) -> [u64; 3] {
    contrast!(8, weights, shifts, length, bands, shares, excesses, weighted_coarse)
}
