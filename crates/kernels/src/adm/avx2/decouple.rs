//! Splits distorted coefficients into what is left of the reference and what was added to it.
//!
//! **Scale 0 needs no division.** With `o` and `t` of one sign, `u = |o| / 2^15` and `|t| <= |o|`, the ratio is
//! `k = 2^15 t / o - a t / 2^15 + e` with `0 <= a < 1` from the truncated reciprocal and `|e| <= 1/2` from rounding. What is left,
//! `k o / 2^15`, is off `t` by more than `-u^2 - u / 2` and at most `u / 2`, and so rounds to `t` as long as `|o| <= 2^14`. With
//! `|t| > |o|` the ratio is limited to one and `o` is left. So what is left is the one that is closer to zero, and nothing if
//! signs differ. A block with a larger coefficient, which only patterns of full contrast have, takes the scalar path.
//!
//! The other scales divide in double precision: 15 bits of the reference make the quotient's distance from the next whole number
//! larger than the error, and all products that matter have fewer than 53 bits.
//!
//! The test for parallel vectors is done in single precision; a block in which it is close takes the scalar path.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

use super::{vectors, vectors_mut};
use crate::adm::scalar;

/// The limit of parallel vectors. It is close if the sides differ by less than `MARGIN`, which is more than all roundings.
const PARALLEL: f32 = 0.999_695_4;
const MARGIN: f32 = 1.0 / 65536.0;

/// From the dot product and the squares of both lengths: which vectors are parallel, and for which it is close.
#[target_feature(enable = "avx2")]
#[inline]
fn parallel(dot: __m256, reference: __m256, distorted: __m256) -> [__m256; 2] {
    let square = _mm256_mul_ps(dot, dot);
    let limit = _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(PARALLEL), reference), distorted);
    let difference = _mm256_sub_ps(square, limit);
    let magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0), difference);
    let close = _mm256_cmp_ps::<_CMP_LT_OQ>(magnitude, _mm256_mul_ps(limit, _mm256_set1_ps(MARGIN)));
    let zero = _mm256_setzero_ps();
    let parallel =
        _mm256_and_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(dot, zero), _mm256_cmp_ps::<_CMP_GE_OQ>(difference, zero));
    [parallel, close]
}

/// One block of 16 columns in three bands.
type Block<'a, T, const LANES: usize> = [&'a [T; LANES]; 3];

#[cold]
#[inline(never)]
fn fine_exactly(
    gain: u32,
    reference: Block<'_, i16, 16>,
    distorted: Block<'_, i16, 16>,
    restored: [&mut [i16; 16]; 3],
    added: [&mut [i16; 16]; 3],
) {
    scalar::decouple_fine(
        gain,
        reference.map(<[i16; 16]>::as_slice),
        distorted.map(<[i16; 16]>::as_slice),
        restored.map(<[i16; 16]>::as_mut_slice),
        added.map(<[i16; 16]>::as_mut_slice),
    );
}

#[cold]
#[inline(never)]
fn coarse_exactly(
    gain: u32,
    reference: Block<'_, i32, 8>,
    distorted: Block<'_, i32, 8>,
    restored: [&mut [i32; 8]; 3],
    added: [&mut [i32; 8]; 3],
) {
    scalar::decouple_coarse(
        gain,
        reference.map(<[i32; 8]>::as_slice),
        distorted.map(<[i32; 8]>::as_slice),
        restored.map(<[i32; 8]>::as_mut_slice),
        added.map(<[i32; 8]>::as_mut_slice),
    );
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
            _mm256_cvtepi32_ps(_mm256_madd_epi16(o, t)),
            _mm256_cvtepi32_ps(_mm256_madd_epi16(o, o)),
            _mm256_cvtepi32_ps(_mm256_madd_epi16(t, t)),
        );
        *part = [_mm256_castps_si256(parallel), _mm256_castps_si256(close)];
    }
    [_mm256_packs_epi32(parts[0][0], parts[1][0]), _mm256_packs_epi32(parts[0][1], parts[1][1])]
}

/// What is left of each lane, and whether the reference is too large for that.
#[target_feature(enable = "avx2")]
#[inline]
fn restored_fine(o: __m256i, t: __m256i, gain: Option<(__m256i, __m256i)>) -> [__m256i; 2] {
    let magnitude = _mm256_abs_epi16(o);
    let too_large = _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(1 << 14));
    // Of the magnitude 32768, which is no positive value.
    let too_large = _mm256_or_si256(too_large, _mm256_srai_epi16::<15>(magnitude));
    let limit = match gain {
        None => magnitude,
        Some((gain, parallel)) => {
            let low = _mm256_mullo_epi16(magnitude, gain);
            let overflow = _mm256_cmpgt_epi16(_mm256_mulhi_epu16(magnitude, gain), _mm256_setzero_si256());
            _mm256_blendv_epi8(magnitude, _mm256_or_si256(low, overflow), parallel)
        }
    };
    let restored = _mm256_sign_epi16(_mm256_min_epu16(limit, _mm256_abs_epi16(t)), o);
    let opposite = _mm256_srai_epi16::<15>(_mm256_xor_si256(o, t));
    [_mm256_andnot_si256(opposite, restored), too_large]
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
    #[allow(clippy::cast_possible_truncation)] // At most 100.
    let factor = _mm256_set1_epi16(gain as i16);
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
        let mut inexact = _mm256_setzero_si256();
        // Without enhancement gain it does not matter whether vectors are parallel.
        let gain_of_lanes = if gain > 1 {
            let [parallel, close] = parallel_fine([o[0], o[1]], [t[0], t[1]]);
            inexact = close;
            Some((factor, parallel))
        } else {
            None
        };
        for band in 0..3 {
            let [left, too_large] = restored_fine(o[band], t[band], gain_of_lanes);
            inexact = _mm256_or_si256(inexact, too_large);
            _mm256_storeu_si256(&mut restored[band][x], left);
            _mm256_storeu_si256(&mut added[band][x], _mm256_sub_epi16(t[band], left));
        }
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
        let [parallel, close] =
            parallel(dot(o_vector, t_vector), dot(o_vector, o_vector), dot(t_vector, t_vector));
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
