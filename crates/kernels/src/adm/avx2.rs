//! The kernels for AVX2.

// Intrinsics are imported as a whole, and rows and taps are named by letters.
#![allow(clippy::wildcard_imports, clippy::many_single_char_names)]

mod contrast;
mod cubes;
mod decouple;
mod masking;
mod wavelet;

pub(super) use contrast::{contrast_coarse, contrast_fine};
pub(super) use cubes::{cubes_coarse, cubes_fine};
pub(super) use decouple::{decouple_coarse, decouple_fine};
pub(super) use masking::{masking_coarse, masking_fine};
pub(super) use wavelet::{
    horizontal_coarse, horizontal_fine, vertical_bytes, vertical_coarse, vertical_widening, vertical_words,
};

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

/// Ones in the first `count` of 8 lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn first_lanes(count: usize) -> __m256i {
    // Only the last vector of a row takes the other branch.
    if count >= 8 {
        return _mm256_set1_epi32(-1);
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // Less than 8.
    let count = _mm256_set1_epi32(count as i32);
    _mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
}

/// The sum of the four lanes.
#[target_feature(enable = "avx2")]
fn sum64(vector: __m256i) -> u64 {
    let mut lanes = [0_u64; 4];
    _mm256_storeu_si256(&mut lanes, vector);
    lanes.iter().fold(0, |sum, &lane| sum.wrapping_add(lane))
}

/// `(weight * coefficient + 2^27) >> 28` in each lane.
#[target_feature(enable = "avx2")]
fn weighted(coefficients: __m256i, weight: __m256i) -> __m256i {
    let half = _mm256_set1_epi64x(1 << 27);
    let even = _mm256_add_epi64(_mm256_mul_epi32(coefficients, weight), half);
    let odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64::<32>(coefficients), weight), half);
    _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<28>(even), _mm256_slli_epi64::<4>(odd))
}

#[target_feature(enable = "avx2")]
fn load32(row: &[i32; 8]) -> __m256i {
    _mm256_loadu_si256(row)
}
