//! Shares of the masking threshold.
//!
//! At scale 0 all products are taken in 16 bits: `mulhrs` is `(a * b + 2^14) >> 15`, and a factor of 32768 or more is split
//! into multiples of 32768, which are exact, and a rest. A fifteenth may need more than 16 bits, but not what it has more than a
//! thirtieth.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

use super::{load32, weighted};
use crate::vectors::{vectors, vectors_mut};

/// The sum of three bands of 16-bit values, as 32-bit values in order.
#[target_feature(enable = "avx2")]
fn sum_of_bands(bands: [__m256i; 3]) -> [__m256i; 2] {
    let ones = _mm256_set1_epi16(1);
    let zero = _mm256_setzero_si256();
    let low = _mm256_add_epi32(
        _mm256_madd_epi16(_mm256_unpacklo_epi16(bands[0], bands[1]), ones),
        _mm256_madd_epi16(_mm256_unpacklo_epi16(bands[2], zero), ones),
    );
    let high = _mm256_add_epi32(
        _mm256_madd_epi16(_mm256_unpackhi_epi16(bands[0], bands[1]), ones),
        _mm256_madd_epi16(_mm256_unpackhi_epi16(bands[2], zero), ones),
    );
    [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)]
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn masking_fine(
    weights: [u32; 3],
    length: usize,
    bands: [&[i16]; 3],
    shares: &mut [i32],
    excesses: &mut [i32],
) {
    #[allow(clippy::cast_possible_truncation)] // Weights have 16 bits.
    let [horizontal_weight, vertical_weight, diagonal_weight] = weights.map(|weight| weight as u16);
    let straight = |weight: u16| _mm256_set1_epi16(weight.wrapping_sub(1 << 15).cast_signed());
    let straight = [straight(horizontal_weight), straight(vertical_weight)];
    let diagonal = _mm256_set1_epi16(diagonal_weight.cast_signed());
    // As a signed factor, a weight of 32768 or more is too low by 65536.
    let diagonal_correction = _mm256_srai_epi16::<15>(diagonal);
    let (one, zero) = (_mm256_set1_epi16(1), _mm256_setzero_si256());
    let count = length.div_ceil(16);
    let [a, b, c] = bands.map(|band| vectors::<16, _>(band, count));
    let shares = vectors_mut::<2, _>(shares.as_chunks_mut::<8>().0, count);
    let excesses = vectors_mut::<2, _>(excesses.as_chunks_mut::<8>().0, count);
    for x in 0..count {
        let horizontal = _mm256_loadu_si256(&a[x]);
        let vertical = _mm256_loadu_si256(&b[x]);
        let third = _mm256_loadu_si256(&c[x]);
        let horizontal = _mm256_add_epi16(horizontal, _mm256_mulhrs_epi16(horizontal, straight[0]));
        let vertical = _mm256_add_epi16(vertical, _mm256_mulhrs_epi16(vertical, straight[1]));
        // (product + 65535) >> 17: the upper word, plus one unless the lower one is zero.
        let upper = _mm256_add_epi16(
            _mm256_mulhi_epi16(third, diagonal),
            _mm256_and_si256(third, diagonal_correction),
        );
        let lower_is_zero = _mm256_cmpeq_epi16(_mm256_mullo_epi16(third, diagonal), zero);
        let upper = _mm256_add_epi16(_mm256_add_epi16(upper, one), lower_is_zero);
        let magnitudes = [
            _mm256_abs_epi16(horizontal),
            _mm256_abs_epi16(vertical),
            _mm256_abs_epi16(_mm256_srai_epi16::<1>(upper)),
        ];
        // 4369 / 2^12 = 1 + 2184 / 2^15, and 8738 / 2^12 = 2 + 4368 / 2^15.
        let mut thirtieths = [zero; 3];
        let mut differences = [zero; 3];
        for (band, magnitude) in magnitudes.into_iter().enumerate() {
            let behind_point = _mm256_mulhrs_epi16(magnitude, _mm256_set1_epi16(2184));
            let of_fifteenth = _mm256_mulhrs_epi16(magnitude, _mm256_set1_epi16(4368));
            thirtieths[band] = _mm256_add_epi16(magnitude, behind_point);
            differences[band] = _mm256_add_epi16(magnitude, _mm256_sub_epi16(of_fifteenth, behind_point));
        }
        let share = sum_of_bands(thirtieths);
        let excess = sum_of_bands(differences);
        for half in 0..2 {
            _mm256_storeu_si256(&mut shares[x][half], share[half]);
            _mm256_storeu_si256(&mut excesses[x][half], excess[half]);
        }
    }
}

/// `(part * magnitude - 2^31) >> 32` in each lane; `odd` has the odd magnitudes in even lanes.
#[target_feature(enable = "avx2")]
fn share(part: __m256i, even: __m256i, odd: __m256i) -> __m256i {
    let rounding = _mm256_set1_epi64x(i64::from(i32::MIN));
    let even = _mm256_add_epi64(_mm256_mul_epu32(even, part), rounding);
    let odd = _mm256_add_epi64(_mm256_mul_epu32(odd, part), rounding);
    _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd)
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn masking_coarse(
    weights: [u32; 3],
    length: usize,
    bands: [&[i32]; 3],
    shares: &mut [i32],
    excesses: &mut [i32],
) {
    let thirtieth = _mm256_set1_epi32(143_165_577);
    let fifteenth = _mm256_set1_epi32(286_331_153);
    let count = length.div_ceil(8);
    let bands = bands.map(|band| vectors::<8, _>(band, count));
    let (shares, excesses) = (vectors_mut::<8, _>(shares, count), vectors_mut::<8, _>(excesses, count));
    for x in 0..count {
        let mut sum = _mm256_setzero_si256();
        let mut own = _mm256_setzero_si256();
        for (band, weight) in bands.iter().zip(weights) {
            let weight = _mm256_set1_epi32(weight.cast_signed());
            let magnitudes = _mm256_abs_epi32(weighted(load32(&band[x]), weight));
            let odd = _mm256_srli_epi64::<32>(magnitudes);
            sum = _mm256_add_epi32(sum, share(thirtieth, magnitudes, odd));
            own = _mm256_add_epi32(own, share(fifteenth, magnitudes, odd));
        }
        _mm256_storeu_si256(&mut shares[x], sum);
        _mm256_storeu_si256(&mut excesses[x], _mm256_sub_epi32(own, sum));
    }
}
