//! Cubed contrasts above the masking threshold, summed over a row.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::_mm_loadu_si128;

use super::{first_lanes, load32, sum64, vectors, weighted};
use crate::adm::shifts::ContrastShifts;

/// The rows of shares at the three columns around each lane, and the excesses.
struct Thresholds<'a> {
    shares: [[&'a [[i32; 8]]; 3]; 3],
    excesses: &'a [[i32; 8]],
}

impl<'a> Thresholds<'a> {
    fn new(count: usize, shares: [&'a [i32]; 3], excesses: &'a [i32]) -> Self {
        Self {
            shares: shares.map(|row| [0, 1, 2].map(|column| vectors::<8, _>(&row[column..], count))),
            excesses: vectors::<8, _>(excesses, count),
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn at(&self, x: usize) -> __m256i {
        let mut sum = load32(&self.excesses[x]);
        for row in &self.shares {
            for column in row {
                sum = _mm256_add_epi32(sum, load32(&column[x]));
            }
        }
        sum
    }
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

macro_rules! contrast {
    ($weights:ident, $shifts:ident, $length:ident, $bands:ident, $thresholds:ident, $weighted:expr) => {{
        let count = $length.div_ceil(8);
        let thresholds = Thresholds::new(count, $thresholds.0, $thresholds.1);
        let [horizontal, vertical, diagonal] = $bands.map(|band| vectors::<8, _>(band, count));
        let cubes = [Cubes::new($shifts, 0), Cubes::new($shifts, 1), Cubes::new($shifts, 2)];
        let weight = |band: usize| _mm256_set1_epi32($weights[band].cast_signed());
        let weights = [weight(0), weight(1), weight(2)];
        let mut sums = [_mm256_setzero_si256(); 3];
        for x in 0..count {
            let threshold = thresholds.at(x);
            let mask = if x + 1 == count { first_lanes($length - 8 * x) } else { _mm256_set1_epi32(-1) };
            for (band, coefficients) in [&horizontal[x], &vertical[x], &diagonal[x]].into_iter().enumerate() {
                let weighted = $weighted(coefficients, weights[band]);
                sums[band] = cubes[band].add(weighted, threshold, mask, sums[band]);
            }
        }
        [sum64(sums[0]), sum64(sums[1]), sum64(sums[2])]
    }};
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
    let thresholds = (shares, excesses);
    contrast!(weights, shifts, length, bands, thresholds, weighted_fine)
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
    let thresholds = (shares, excesses);
    contrast!(weights, shifts, length, bands, thresholds, weighted_coarse)
}
