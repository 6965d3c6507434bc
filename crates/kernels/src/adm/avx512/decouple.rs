//! Splits distorted coefficients into what is left of the reference and what was added to it: the reasoning of the kernel for
//! AVX2 in other instructions.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm512_loadu_si512, _mm512_storeu_si512};

use super::LANES;
use crate::adm::avx2;
use crate::adm::decouple::{AngleLimits, coarse_exactly, fine_exactly};
use crate::vectors::{vectors, vectors_mut};

/// From the dot product and the squares of both lengths: lanes are negative where vectors are not surely parallel, and where that
/// is close.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn not_parallel(limits: AngleLimits, dot: __m512, reference: __m512, distorted: __m512) -> [__m512i; 2] {
    let square = _mm512_mul_ps(dot, dot);
    let limit = _mm512_mul_ps(reference, distorted);
    let least = _mm512_mul_ps(limit, _mm512_set1_ps(limits.surely_less));
    let most = _mm512_mul_ps(limit, _mm512_set1_ps(limits.surely_more));
    let surely_not = _mm512_or_ps(_mm512_sub_ps(square, least), dot);
    let not_surely = _mm512_or_ps(_mm512_sub_ps(square, most), dot);
    [_mm512_castps_si512(not_surely), _mm512_castps_si512(_mm512_andnot_ps(surely_not, not_surely))]
}

/// The enhancement gain is left to AVX2, whose code for it is faster.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn decouple_fine(
    gain: u32,
    length: usize,
    reference: [&[i16]; 3],
    distorted: [&[i16]; 3],
    restored: [&mut [i16]; 3],
    added: [&mut [i16]; 3],
) {
    if gain > 1 {
        return avx2::decouple_fine(gain, length, reference, distorted, restored, added);
    }
    let count = length.div_ceil(2 * LANES);
    let reference = reference.map(|band| vectors::<32, _>(band, count));
    let distorted = distorted.map(|band| vectors::<32, _>(band, count));
    let mut restored = restored.map(|band| vectors_mut::<32, _>(band, count));
    let mut added = added.map(|band| vectors_mut::<32, _>(band, count));
    let zero = _mm512_setzero_si512();
    for x in 0..count {
        let o = [
            _mm512_loadu_si512(&reference[0][x]),
            _mm512_loadu_si512(&reference[1][x]),
            _mm512_loadu_si512(&reference[2][x]),
        ];
        let t = [
            _mm512_loadu_si512(&distorted[0][x]),
            _mm512_loadu_si512(&distorted[1][x]),
            _mm512_loadu_si512(&distorted[2][x]),
        ];
        // Without enhancement gain it does not matter whether vectors are parallel.
        let mut too_large = 0;
        for band in 0..3 {
            too_large |= _mm512_cmpgt_epu16_mask(_mm512_abs_epi16(o[band]), _mm512_set1_epi16(1 << 14));
            let below = _mm512_min_epi16(t[band], _mm512_max_epi16(o[band], zero));
            let left = _mm512_max_epi16(below, _mm512_min_epi16(o[band], zero));
            _mm512_storeu_si512(&mut restored[band][x], left);
            _mm512_storeu_si512(&mut added[band][x], _mm512_sub_epi16(t[band], left));
        }
        if too_large != 0 {
            fine_exactly(
                gain,
                [&reference[0][x], &reference[1][x], &reference[2][x]],
                [&distorted[0][x], &distorted[1][x], &distorted[2][x]],
                restored.each_mut().map(|band| &mut band[x]),
                added.each_mut().map(|band| &mut band[x]),
            );
        }
    }
}

/// What is left in eight lanes, with the enhancement gain where vectors are parallel.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn restored_coarse(o: __m256i, t: __m256i, parallel: __mmask8, gain: __m512d) -> __m256i {
    const EXPONENT: i64 = 0x7FF << 52;
    const LEADING_BITS: u32 = 38;
    const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    let half = _mm512_set1_pd(0.5);
    let sign_bit = _mm512_set1_pd(-0.0);
    let o = _mm512_cvtepi32_pd(o);
    let t = _mm512_cvtepi32_pd(t);
    let sign = _mm512_and_pd(o, sign_bit);
    let magnitude = _mm512_castpd_si512(_mm512_andnot_pd(sign_bit, o));
    // Positive where the signs are equal.
    let distorted = _mm512_xor_pd(t, sign);

    // The 15 leading bits, rounded, still at their position, and the power of two by which the magnitude exceeds 15 bits.
    let rounded = _mm512_add_epi64(magnitude, _mm512_set1_epi64(1 << (LEADING_BITS - 1)));
    let rounded = _mm512_castsi512_pd(_mm512_and_si512(rounded, _mm512_set1_epi64(-1 << LEADING_BITS)));
    let power = _mm512_castsi512_pd(_mm512_and_si512(magnitude, _mm512_set1_epi64(EXPONENT)));
    let excess = _mm512_max_pd(_mm512_mul_pd(power, _mm512_set1_pd(1.0 / 16384.0)), _mm512_set1_pd(1.0));

    let reciprocal = _mm512_div_pd(_mm512_mul_pd(excess, _mm512_set1_pd(1_073_741_824.0)), rounded);
    let reciprocal = _mm512_roundscale_pd::<DOWN>(reciprocal);
    // 2^-15 divided by the power of two.
    let scale = _mm512_sub_epi64(_mm512_set1_epi64((2046 - 15) << 52), _mm512_castpd_si512(excess));
    let product = _mm512_mul_pd(reciprocal, _mm512_mul_pd(distorted, _mm512_castsi512_pd(scale)));
    let ratio = _mm512_roundscale_pd::<DOWN>(_mm512_add_pd(product, half));
    // In this order a reference of zero, whose product may not be a number, gives one.
    let ratio = _mm512_max_pd(_mm512_min_pd(ratio, _mm512_set1_pd(32768.0)), _mm512_setzero_pd());

    let left = _mm512_mul_pd(_mm512_mul_pd(ratio, o), _mm512_set1_pd(1.0 / 32768.0));
    let left = _mm512_xor_pd(_mm512_roundscale_pd::<DOWN>(_mm512_add_pd(left, half)), sign);
    let enhanced = _mm512_mul_pd(left, gain);
    let left = _mm512_mask_min_pd(left, parallel, enhanced, _mm512_andnot_pd(sign_bit, t));
    _mm512_cvttpd_epi32(_mm512_xor_pd(left, sign))
}

/// Without zeroes that have the sign of a negative number.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn positive_zero(dot: __m512) -> __m512 {
    _mm512_add_ps(dot, _mm512_setzero_ps())
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn dot(a: [__m512; 2], b: [__m512; 2]) -> __m512 {
    _mm512_add_ps(_mm512_mul_ps(a[0], b[0]), _mm512_mul_ps(a[1], b[1]))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn decouple_coarse(
    gain: u32,
    length: usize,
    reference: [&[i32]; 3],
    distorted: [&[i32]; 3],
    restored: [&mut [i32]; 3],
    added: [&mut [i32]; 3],
) {
    let count = length.div_ceil(LANES);
    let reference = reference.map(|band| vectors::<LANES, _>(band, count));
    let distorted = distorted.map(|band| vectors::<LANES, _>(band, count));
    let mut restored = restored.map(|band| vectors_mut::<LANES, _>(band, count));
    let mut added = added.map(|band| vectors_mut::<LANES, _>(band, count));
    let factor = _mm512_set1_pd(f64::from(gain));
    for x in 0..count {
        let o = [
            _mm512_loadu_si512(&reference[0][x]),
            _mm512_loadu_si512(&reference[1][x]),
            _mm512_loadu_si512(&reference[2][x]),
        ];
        let t = [
            _mm512_loadu_si512(&distorted[0][x]),
            _mm512_loadu_si512(&distorted[1][x]),
            _mm512_loadu_si512(&distorted[2][x]),
        ];
        let o_vector = [_mm512_cvtepi32_ps(o[0]), _mm512_cvtepi32_ps(o[1])];
        let t_vector = [_mm512_cvtepi32_ps(t[0]), _mm512_cvtepi32_ps(t[1])];
        let [not_parallel, close] = not_parallel(
            AngleLimits::COARSE,
            positive_zero(dot(o_vector, t_vector)),
            dot(o_vector, o_vector),
            dot(t_vector, t_vector),
        );
        let [low_parallel, high_parallel] = (!_mm512_movepi32_mask(not_parallel)).to_le_bytes();
        for band in 0..3 {
            let low = restored_coarse(
                _mm512_castsi512_si256(o[band]),
                _mm512_castsi512_si256(t[band]),
                low_parallel,
                factor,
            );
            let high = restored_coarse(
                _mm512_extracti64x4_epi64::<1>(o[band]),
                _mm512_extracti64x4_epi64::<1>(t[band]),
                high_parallel,
                factor,
            );
            let left = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            _mm512_storeu_si512(&mut restored[band][x], left);
            _mm512_storeu_si512(&mut added[band][x], _mm512_sub_epi32(t[band], left));
        }
        if _mm512_movepi32_mask(close) != 0 {
            coarse_exactly(
                gain,
                [&reference[0][x], &reference[1][x], &reference[2][x]],
                [&distorted[0][x], &distorted[1][x], &distorted[2][x]],
                restored.each_mut().map(|band| &mut band[x]),
                added.each_mut().map(|band| &mut band[x]),
            );
        }
    }
}
