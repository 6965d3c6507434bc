//! Cubed contrasts above the masking threshold, summed over a row.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::_mm256_loadu_si256;

use super::{LANES, even_and_odd, first_lanes, load32, sum64, weighted};
use crate::adm::contrast::contrast;
use crate::adm::shifts::ContrastShifts;
use crate::vectors::vectors;

/// The sum of three rows of shares.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn columns(rows: [&[[i32; LANES]]; 3], x: usize) -> __m512i {
    _mm512_add_epi32(_mm512_add_epi32(load32(&rows[0][x]), load32(&rows[1][x])), load32(&rows[2][x]))
}

/// The threshold of each lane: the sums of three columns, of which the last ones are in the next vector, and what the lane itself
/// has more.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn threshold(columns: __m512i, next: __m512i, excesses: &[i32; LANES]) -> __m512i {
    let second = _mm512_alignr_epi32::<1>(next, columns);
    let third = _mm512_alignr_epi32::<2>(next, columns);
    let own = _mm512_add_epi32(columns, load32(excesses));
    _mm512_add_epi32(own, _mm512_add_epi32(second, third))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn splat(value: u32) -> __m512i {
    _mm512_set1_epi32(value.cast_signed())
}

/// Rounding and shifts of one band.
#[derive(Clone, Copy)]
struct Cubes {
    threshold: __m512i,
    square_rounding: __m512i,
    square: __m512i,
    cube_rounding: __m512i,
    cube: __m512i,
}

impl Cubes {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn new(shifts: &ContrastShifts, band: usize) -> Self {
        let half = |shift: u32| _mm512_set1_epi64((1 << shift) >> 1);
        Self {
            threshold: _mm512_set1_epi32(shifts.threshold[band].cast_signed()),
            square_rounding: half(shifts.square[band]),
            square: _mm512_set1_epi64(shifts.square[band].into()),
            cube_rounding: half(shifts.cube[band]),
            cube: _mm512_set1_epi64(shifts.cube[band].into()),
        }
    }

    /// Adds the cubes of `weighted` above the threshold, in the lanes of the mask.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline]
    fn add(&self, weighted: __m512i, threshold: __m512i, mask: __mmask16, sum: __m512i) -> __m512i {
        let threshold = _mm512_sllv_epi32(threshold, self.threshold);
        let contrast = _mm512_sub_epi32(_mm512_abs_epi32(weighted), threshold);
        let contrast = _mm512_maskz_max_epi32(mask, contrast, _mm512_setzero_si512());
        let [even, odd] = even_and_odd(contrast);
        _mm512_add_epi64(sum, _mm512_add_epi64(self.cubes(even), self.cubes(odd)))
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline]
    fn cubes(&self, contrast: __m512i) -> __m512i {
        let squares = _mm512_add_epi64(_mm512_mul_epu32(contrast, contrast), self.square_rounding);
        let squares = _mm512_srlv_epi64(squares, self.square);
        let cubes = _mm512_add_epi64(_mm512_mul_epu32(squares, contrast), self.cube_rounding);
        _mm512_srlv_epi64(cubes, self.cube)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn weighted_fine(coefficients: &[i16; LANES], weight: __m512i) -> __m512i {
    _mm512_mullo_epi32(_mm512_cvtepi16_epi32(_mm256_loadu_si256(coefficients)), weight)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn weighted_coarse(coefficients: &[i32; LANES], weight: __m512i) -> __m512i {
    weighted(load32(coefficients), weight)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn contrast_fine(
    weights: [u32; 3],
    shifts: &ContrastShifts,
    length: usize,
    bands: [&[i16]; 3],
    shares: [&[i32]; 3],
    excesses: &[i32],
) -> [u64; 3] {
    contrast!(16, weights, shifts, length, bands, shares, excesses, weighted_fine)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn contrast_coarse(
    weights: [u32; 3],
    shifts: &ContrastShifts,
    length: usize,
    bands: [&[i32]; 3],
    shares: [&[i32]; 3],
    excesses: &[i32],
) -> [u64; 3] {
    contrast!(16, weights, shifts, length, bands, shares, excesses, weighted_coarse)
}
