//! Splits distorted coefficients into what is left of the reference and what was added to it.
//!
//! **Scale 0 needs no division.** With `o` and `t` of one sign, `u = |o| / 2^15` and `|t| <= |o|`, the ratio is
//! `k = 2^15 t / o - a t / 2^15 + e` with `0 <= a < 1` from the truncated reciprocal and `|e| <= 1/2` from rounding. What is left,
//! `k o / 2^15`, is off `t` by more than `-u^2 - u / 2` and at most `u / 2`, and so rounds to `t` as long as `|o| <= 2^14`. With
//! `|t| > |o|` the ratio is limited to one and `o` is left. So what is left is the one that is closer to zero, and nothing if
//! signs differ: the distorted coefficient, limited to the range from zero to the reference. A block with a larger coefficient,
//! which only patterns of full contrast have, takes the scalar path.
//!
//! The other scales divide in double precision: 15 bits of the reference make the quotient's distance from the next whole number
//! larger than the error, and all products that matter have fewer than 53 bits.
//!
//! The test for parallel vectors is done in single precision; a block in which it is close takes the scalar path.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

use crate::adm::decouple::{AngleLimits, coarse_exactly, fine_exactly};
use crate::vectors::{vectors, vectors_mut};

/// From the dot product and the squares of both lengths: which vectors are parallel, and for which it is close.
#[target_feature(enable = "avx2")]
#[inline]
fn parallel(limits: AngleLimits, dot: __m256, reference: __m256, distorted: __m256) -> [__m256; 2] {
    let square = _mm256_mul_ps(dot, dot);
    let limit = _mm256_mul_ps(reference, distorted);
    let least = _mm256_mul_ps(limit, _mm256_set1_ps(limits.surely_less));
    let most = _mm256_mul_ps(limit, _mm256_set1_ps(limits.surely_more));
    let forward = _mm256_cmp_ps::<_CMP_GE_OQ>(dot, _mm256_setzero_ps());
    let parallel = _mm256_and_ps(forward, _mm256_cmp_ps::<_CMP_GE_OQ>(square, most));
    let perhaps = _mm256_and_ps(forward, _mm256_cmp_ps::<_CMP_GE_OQ>(square, least));
    [parallel, _mm256_andnot_ps(parallel, perhaps)]
}

/// In 16-bit lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn parallel_fine(reference: [__m256i; 2], distorted: [__m256i; 2]) -> [__m256i; 2] {
    let mut parts = [[_mm256_setzero_si256(); 2]; 2];
    for (half, part) in parts.iter_mut().enumerate() {
        let [o, t] = if half == 0 {
            [
                _mm256_unpacklo_epi16(reference[0], reference[1]),
                _mm256_unpacklo_epi16(distorted[0], distorted[1]),
            ]
        } else {
            [
                _mm256_unpackhi_epi16(reference[0], reference[1]),
                _mm256_unpackhi_epi16(distorted[0], distorted[1]),
            ]
        };
        let [parallel, close] = parallel(
            AngleLimits::FINE,
            _mm256_cvtepi32_ps(_mm256_madd_epi16(o, t)),
            _mm256_cvtepi32_ps(_mm256_madd_epi16(o, o)),
            _mm256_cvtepi32_ps(_mm256_madd_epi16(t, t)),
        );
        *part = [_mm256_castps_si256(parallel), _mm256_castps_si256(close)];
    }
    [_mm256_packs_epi32(parts[0][0], parts[1][0]), _mm256_packs_epi32(parts[0][1], parts[1][1])]
}

/// A gain, and the largest magnitude whose product with it has 15 bits.
#[derive(Clone, Copy)]
struct Gain {
    factor: __m256i,
    most: __m256i,
    least: __m256i,
}

impl Gain {
    #[target_feature(enable = "avx2")]
    #[allow(clippy::cast_possible_truncation)] // At most 100, and at most 15 bits.
    fn new(gain: u32) -> Self {
        let most = i16::MAX / gain as i16;
        Self {
            factor: _mm256_set1_epi16(gain as i16),
            most: _mm256_set1_epi16(most),
            least: _mm256_set1_epi16(-most),
        }
    }

    /// Products are limited to a magnitude of 32668 or more, which is more than a coefficient of a picture has.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn enhanced(&self, coefficients: __m256i, lanes: __m256i) -> __m256i {
        let limited = _mm256_max_epi16(_mm256_min_epi16(coefficients, self.most), self.least);
        _mm256_blendv_epi8(coefficients, _mm256_mullo_epi16(limited, self.factor), lanes)
    }
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn decouple_fine(
    gain: u32,
    length: usize,
    reference: [&[i16]; 3],
    distorted: [&[i16]; 3],
    restored: [&mut [i16]; 3],
    added: [&mut [i16]; 3],
) {
    let count = length.div_ceil(16);
    let reference = reference.map(|band| vectors::<16, _>(band, count));
    let distorted = distorted.map(|band| vectors::<16, _>(band, count));
    let mut restored = restored.map(|band| vectors_mut::<16, _>(band, count));
    let mut added = added.map(|band| vectors_mut::<16, _>(band, count));
    let enhancement = Gain::new(gain);
    let zero = _mm256_setzero_si256();
    for x in 0..count {
        let o = [
            _mm256_loadu_si256(&reference[0][x]),
            _mm256_loadu_si256(&reference[1][x]),
            _mm256_loadu_si256(&reference[2][x]),
        ];
        let t = [
            _mm256_loadu_si256(&distorted[0][x]),
            _mm256_loadu_si256(&distorted[1][x]),
            _mm256_loadu_si256(&distorted[2][x]),
        ];
        // Without enhancement gain it does not matter whether vectors are parallel.
        let [parallel, close] = if gain > 1 { parallel_fine([o[0], o[1]], [t[0], t[1]]) } else { [zero; 2] };
        let mut largest = zero;
        for band in 0..3 {
            largest = _mm256_max_epu16(largest, _mm256_abs_epi16(o[band]));
            let limit = if gain > 1 { enhancement.enhanced(o[band], parallel) } else { o[band] };
            let below = _mm256_min_epi16(t[band], _mm256_max_epi16(limit, zero));
            let left = _mm256_max_epi16(below, _mm256_min_epi16(limit, zero));
            _mm256_storeu_si256(&mut restored[band][x], left);
            _mm256_storeu_si256(&mut added[band][x], _mm256_sub_epi16(t[band], left));
        }
        let too_large = _mm256_subs_epu16(largest, _mm256_set1_epi16(1 << 14));
        let inexact = _mm256_or_si256(close, too_large);
        if _mm256_testz_si256(inexact, inexact) == 0 {
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

/// What is left in four lanes, with the enhancement gain where vectors are parallel.
#[target_feature(enable = "avx2")]
#[inline]
fn restored_coarse(o: __m128i, t: __m128i, parallel: __m256d, gain: __m256d) -> __m128i {
    const EXPONENT: i64 = 0x7FF << 52;
    const LEADING_BITS: u32 = 38;
    let half = _mm256_set1_pd(0.5);
    let sign_bit = _mm256_set1_pd(-0.0);
    let o = _mm256_cvtepi32_pd(o);
    let t = _mm256_cvtepi32_pd(t);
    let sign = _mm256_and_pd(o, sign_bit);
    let magnitude = _mm256_castpd_si256(_mm256_andnot_pd(sign_bit, o));
    // Positive where the signs are equal.
    let distorted = _mm256_xor_pd(t, sign);

    // The 15 leading bits, rounded, still at their position, and the power of two by which the magnitude exceeds 15 bits.
    let rounded = _mm256_add_epi64(magnitude, _mm256_set1_epi64x(1 << (LEADING_BITS - 1)));
    let rounded = _mm256_castsi256_pd(_mm256_and_si256(rounded, _mm256_set1_epi64x(-1 << LEADING_BITS)));
    let power = _mm256_castsi256_pd(_mm256_and_si256(magnitude, _mm256_set1_epi64x(EXPONENT)));
    let excess = _mm256_max_pd(_mm256_mul_pd(power, _mm256_set1_pd(1.0 / 16384.0)), _mm256_set1_pd(1.0));

    let reciprocal = _mm256_div_pd(_mm256_mul_pd(excess, _mm256_set1_pd(1_073_741_824.0)), rounded);
    let reciprocal = _mm256_floor_pd(reciprocal);
    // 2^-15 divided by the power of two.
    let scale = _mm256_sub_epi64(_mm256_set1_epi64x((2046 - 15) << 52), _mm256_castpd_si256(excess));
    let product = _mm256_mul_pd(reciprocal, _mm256_mul_pd(distorted, _mm256_castsi256_pd(scale)));
    let ratio = _mm256_floor_pd(_mm256_add_pd(product, half));
    // In this order a reference of zero, whose product may not be a number, gives one.
    let ratio = _mm256_max_pd(_mm256_min_pd(ratio, _mm256_set1_pd(32768.0)), _mm256_setzero_pd());

    let left = _mm256_mul_pd(_mm256_mul_pd(ratio, o), _mm256_set1_pd(1.0 / 32768.0));
    let left = _mm256_xor_pd(_mm256_floor_pd(_mm256_add_pd(left, half)), sign);
    let enhanced = _mm256_min_pd(_mm256_mul_pd(left, gain), _mm256_andnot_pd(sign_bit, t));
    let left = _mm256_blendv_pd(left, enhanced, parallel);
    _mm256_cvttpd_epi32(_mm256_xor_pd(left, sign))
}

#[target_feature(enable = "avx2")]
#[inline]
fn dot(a: [__m256; 2], b: [__m256; 2]) -> __m256 {
    _mm256_add_ps(_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1]))
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn decouple_coarse(
    gain: u32,
    length: usize,
    reference: [&[i32]; 3],
    distorted: [&[i32]; 3],
    restored: [&mut [i32]; 3],
    added: [&mut [i32]; 3],
) {
    let count = length.div_ceil(8);
    let reference = reference.map(|band| vectors::<8, _>(band, count));
    let distorted = distorted.map(|band| vectors::<8, _>(band, count));
    let mut restored = restored.map(|band| vectors_mut::<8, _>(band, count));
    let mut added = added.map(|band| vectors_mut::<8, _>(band, count));
    let factor = _mm256_set1_pd(f64::from(gain));
    for x in 0..count {
        let o = [
            _mm256_loadu_si256(&reference[0][x]),
            _mm256_loadu_si256(&reference[1][x]),
            _mm256_loadu_si256(&reference[2][x]),
        ];
        let t = [
            _mm256_loadu_si256(&distorted[0][x]),
            _mm256_loadu_si256(&distorted[1][x]),
            _mm256_loadu_si256(&distorted[2][x]),
        ];
        let o_vector = [_mm256_cvtepi32_ps(o[0]), _mm256_cvtepi32_ps(o[1])];
        let t_vector = [_mm256_cvtepi32_ps(t[0]), _mm256_cvtepi32_ps(t[1])];
        let [parallel, close] = parallel(
            AngleLimits::COARSE,
            dot(o_vector, t_vector),
            dot(o_vector, o_vector),
            dot(t_vector, t_vector),
        );
        let parallel = _mm256_castps_si256(parallel);
        let parallel = [
            _mm256_castsi256_pd(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(parallel))),
            _mm256_castsi256_pd(_mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(parallel))),
        ];
        for band in 0..3 {
            let low = restored_coarse(
                _mm256_castsi256_si128(o[band]),
                _mm256_castsi256_si128(t[band]),
                parallel[0],
                factor,
            );
            let high = restored_coarse(
                _mm256_extracti128_si256::<1>(o[band]),
                _mm256_extracti128_si256::<1>(t[band]),
                parallel[1],
                factor,
            );
            let left = _mm256_set_m128i(high, low);
            _mm256_storeu_si256(&mut restored[band][x], left);
            _mm256_storeu_si256(&mut added[band][x], _mm256_sub_epi32(t[band], left));
        }
        if _mm256_movemask_ps(close) != 0 {
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
