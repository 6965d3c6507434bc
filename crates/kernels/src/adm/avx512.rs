//! The kernels for AVX-512: those for AVX2 with twice the lanes, masks instead of blends, and sums of products in one instruction.

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

use safe_unaligned_simd::x86_64::{_mm512_loadu_si512, _mm512_storeu_si512};

/// Lanes of 32 bits.
const LANES: usize = 16;

/// The first `count` of 16 lanes.
fn first_lanes(count: usize) -> __mmask16 {
    if count < LANES { (1 << count) - 1 } else { __mmask16::MAX }
}

/// The sum of the eight lanes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn sum64(vector: __m512i) -> u64 {
    let mut lanes = [0_u64; 8];
    _mm512_storeu_si512(&mut lanes, vector);
    lanes.iter().fold(0, |sum, &lane| sum.wrapping_add(lane))
}

/// The even lanes of 32 bits, and the odd ones at their position.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn even_and_odd(vector: __m512i) -> [__m512i; 2] {
    [vector, _mm512_srli_epi64::<32>(vector)]
}

/// `(weight * coefficient + 2^27) >> 28` in each lane.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn weighted(coefficients: __m512i, weight: __m512i) -> __m512i {
    let half = _mm512_set1_epi64(1 << 27);
    let [even, odd] = even_and_odd(coefficients);
    let even = _mm512_add_epi64(_mm512_mul_epi32(even, weight), half);
    let odd = _mm512_add_epi64(_mm512_mul_epi32(odd, weight), half);
    _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64::<28>(even), _mm512_slli_epi64::<4>(odd))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn load32(row: &[i32; LANES]) -> __m512i {
    _mm512_loadu_si512(row)
}
