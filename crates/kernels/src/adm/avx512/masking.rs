//! Shares of the masking threshold, with the arithmetic of the kernel for AVX2.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm512_loadu_si512, _mm512_storeu_si512};

use super::{LANES, load32, weighted};
use crate::vectors::{vectors, vectors_mut};

/// The sum of three bands of 16-bit values, as 32-bit values in order.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn sum_of_bands(bands: [__m512i; 3]) -> [__m512i; 2] {
    let ones = _mm512_set1_epi16(1);
    let zero = _mm512_setzero_si512();
    let low = _mm512_dpwssd_epi32(
        _mm512_madd_epi16(_mm512_unpacklo_epi16(bands[0], bands[1]), ones),
        _mm512_unpacklo_epi16(bands[2], zero),
        ones,
    );
    let high = _mm512_dpwssd_epi32(
        _mm512_madd_epi16(_mm512_unpackhi_epi16(bands[0], bands[1]), ones),
        _mm512_unpackhi_epi16(bands[2], zero),
        ones,
    );
    let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    [_mm512_permutex2var_epi64(low, first, high), _mm512_permutex2var_epi64(low, second, high)]
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn masking_fine(
    weights: [u32; 3],
    length: usize,
    bands: [&[i16]; 3],
    shares: &mut [i32],
    excesses: &mut [i32],
) {
    #[allow(clippy::cast_possible_truncation)] // Weights have 16 bits.
    let [horizontal_weight, vertical_weight, diagonal_weight] = weights.map(|weight| weight as u16);
    let straight = |weight: u16| _mm512_set1_epi16(weight.wrapping_sub(1 << 15).cast_signed());
    let straight = [straight(horizontal_weight), straight(vertical_weight)];
    let diagonal = _mm512_set1_epi16(diagonal_weight.cast_signed());
    // As a signed factor, a weight of 32768 or more is too low by 65536.
    let diagonal_correction = _mm512_srai_epi16::<15>(diagonal);
    let one = _mm512_set1_epi16(1);
    let count = length.div_ceil(2 * LANES);
    let [a, b, c] = bands.map(|band| vectors::<32, _>(band, count));
    let shares = vectors_mut::<2, _>(shares.as_chunks_mut::<LANES>().0, count);
    let excesses = vectors_mut::<2, _>(excesses.as_chunks_mut::<LANES>().0, count);
    for x in 0..count {
        let horizontal = _mm512_loadu_si512(&a[x]);
        let vertical = _mm512_loadu_si512(&b[x]);
        let third = _mm512_loadu_si512(&c[x]);
        let horizontal = _mm512_add_epi16(horizontal, _mm512_mulhrs_epi16(horizontal, straight[0]));
        let vertical = _mm512_add_epi16(vertical, _mm512_mulhrs_epi16(vertical, straight[1]));
        // (product + 65535) >> 17: the upper word, plus one unless the lower one is zero.
        let upper = _mm512_add_epi16(
            _mm512_mulhi_epi16(third, diagonal),
            _mm512_and_si512(third, diagonal_correction),
        );
        let lower = _mm512_mullo_epi16(third, diagonal);
        let upper = _mm512_mask_add_epi16(upper, _mm512_test_epi16_mask(lower, lower), upper, one);
        let magnitudes = [
            _mm512_abs_epi16(horizontal),
            _mm512_abs_epi16(vertical),
            _mm512_abs_epi16(_mm512_srai_epi16::<1>(upper)),
        ];
        let mut thirtieths = [one; 3];
        let mut differences = [one; 3];
        for (band, magnitude) in magnitudes.into_iter().enumerate() {
            let behind_point = _mm512_mulhrs_epi16(magnitude, _mm512_set1_epi16(2184));
            let of_fifteenth = _mm512_mulhrs_epi16(magnitude, _mm512_set1_epi16(4368));
            thirtieths[band] = _mm512_add_epi16(magnitude, behind_point);
            differences[band] = _mm512_add_epi16(magnitude, _mm512_sub_epi16(of_fifteenth, behind_point));
        }
        let share = sum_of_bands(thirtieths);
        let excess = sum_of_bands(differences);
        for half in 0..2 {
            _mm512_storeu_si512(&mut shares[x][half], share[half]);
            _mm512_storeu_si512(&mut excesses[x][half], excess[half]);
        }
    }
}

/// `(part * magnitude - 2^31) >> 32` in each lane; `odd` has the odd magnitudes in even lanes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn share(part: __m512i, even: __m512i, odd: __m512i) -> __m512i {
    let rounding = _mm512_set1_epi64(i64::from(i32::MIN));
    let even = _mm512_add_epi64(_mm512_mul_epu32(even, part), rounding);
    let odd = _mm512_add_epi64(_mm512_mul_epu32(odd, part), rounding);
    _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64::<32>(even), odd)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn masking_coarse(
    weights: [u32; 3],
    length: usize,
    bands: [&[i32]; 3],
    shares: &mut [i32],
    excesses: &mut [i32],
) {
    let thirtieth = _mm512_set1_epi32(143_165_577);
    let fifteenth = _mm512_set1_epi32(286_331_153);
    let count = length.div_ceil(LANES);
    let bands = bands.map(|band| vectors::<LANES, _>(band, count));
    let (shares, excesses) =
        (vectors_mut::<LANES, _>(shares, count), vectors_mut::<LANES, _>(excesses, count));
    for x in 0..count {
        let mut sum = _mm512_setzero_si512();
        let mut own = _mm512_setzero_si512();
        for (band, weight) in bands.iter().zip(weights) {
            let weight = _mm512_set1_epi32(weight.cast_signed());
            let magnitudes = _mm512_abs_epi32(weighted(load32(&band[x]), weight));
            let odd = _mm512_srli_epi64::<32>(magnitudes);
            sum = _mm512_add_epi32(sum, share(thirtieth, magnitudes, odd));
            own = _mm512_add_epi32(own, share(fifteenth, magnitudes, odd));
        }
        _mm512_storeu_si512(&mut shares[x], sum);
        _mm512_storeu_si512(&mut excesses[x], _mm512_sub_epi32(own, sum));
    }
}
