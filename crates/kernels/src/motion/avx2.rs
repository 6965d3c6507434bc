//! The kernels for AVX2, for depths up to 12 bits.
//!
//! Differences of rows have 16 bits, and so have sums of two of them, which halves the products of the symmetric filter.
//! Blurred differences need 17 bits only where nearly the whole range changes: they are stored in 16 bits with saturation, and a
//! row that may have saturated is done again in scalar code.

// Intrinsics are imported as a whole, and rows are named by letters.
#![allow(clippy::wildcard_imports, clippy::many_single_char_names)]

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm_loadu_si128, _mm256_loadu_si256, _mm256_storeu_si256};

use super::FILTER;
use super::vector::{difference, rest_of_sum};
use crate::vectors::vectors;

/// Samples in one vector of differences.
const LANES: usize = 16;

#[target_feature(enable = "avx2")]
fn widened_bytes(samples: &[u8; LANES]) -> __m256i {
    _mm256_cvtepu8_epi16(_mm_loadu_si128(samples))
}

#[target_feature(enable = "avx2")]
fn words(samples: &[u16; LANES]) -> __m256i {
    _mm256_loadu_si256(samples)
}

difference!(
    "avx2",
    difference_bytes,
    u8,
    |before, now| _mm256_sub_epi16(widened_bytes(before), widened_bytes(now)),
    _mm256_storeu_si256
);
difference!(
    "avx2",
    difference_words,
    u16,
    |before, now| _mm256_sub_epi16(words(before), words(now)),
    _mm256_storeu_si256
);

#[target_feature(enable = "avx2")]
fn pair(low: i16, high: i16) -> __m256i {
    let [low, high] = [low, high].map(|tap| u32::from(tap.cast_unsigned()));
    _mm256_set1_epi32((low | high << 16).cast_signed())
}

/// The vertical pass. Whether a value may have saturated.
#[target_feature(enable = "avx2")]
pub(super) fn vertical(depth: u32, length: usize, rows: [&[i16]; 5], blurred: &mut [i16]) -> bool {
    let count = length.div_ceil(LANES);
    let [a, b, c, d, e] = rows.map(|row| vectors::<LANES, _>(row, count));
    let blurred = &mut blurred.as_chunks_mut::<LANES>().0[..count];
    let outer = pair(FILTER[0], FILTER[1]);
    // The middle tap, and half of the result's unit, which one is multiplied with. That of 12 bits is 2048.
    let middle = pair(FILTER[2], 1 << (depth - 1));
    let one = _mm256_set1_epi16(1);
    let shift = _mm_cvtsi32_si128(depth.cast_signed());
    let (mut least, mut most) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for x in 0..count {
        let far = _mm256_add_epi16(_mm256_loadu_si256(&a[x]), _mm256_loadu_si256(&e[x]));
        let near = _mm256_add_epi16(_mm256_loadu_si256(&b[x]), _mm256_loadu_si256(&d[x]));
        let own = _mm256_loadu_si256(&c[x]);
        let low = _mm256_add_epi32(
            _mm256_madd_epi16(_mm256_unpacklo_epi16(far, near), outer),
            _mm256_madd_epi16(_mm256_unpacklo_epi16(own, one), middle),
        );
        let high = _mm256_add_epi32(
            _mm256_madd_epi16(_mm256_unpackhi_epi16(far, near), outer),
            _mm256_madd_epi16(_mm256_unpackhi_epi16(own, one), middle),
        );
        let packed = _mm256_packs_epi32(_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift));
        _mm256_storeu_si256(&mut blurred[x], packed);
        least = _mm256_min_epi16(least, packed);
        most = _mm256_max_epi16(most, packed);
    }
    let saturated = _mm256_or_si256(
        _mm256_cmpeq_epi16(least, _mm256_set1_epi16(i16::MIN)),
        _mm256_cmpeq_epi16(most, _mm256_set1_epi16(i16::MAX)),
    );
    _mm256_testz_si256(saturated, saturated) == 0
}

/// The horizontal pass, and the sum of the magnitudes. `row` starts two samples before the first, and ends two after the last.
#[target_feature(enable = "avx2")]
pub(super) fn horizontal(length: usize, row: &[i16]) -> u64 {
    let count = length / LANES;
    let taps = [
        [FILTER[0], FILTER[1], FILTER[2], FILTER[3], FILTER[4], 0],
        [0, FILTER[0], FILTER[1], FILTER[2], FILTER[3], FILTER[4]],
    ]
    .map(|taps| [pair(taps[0], taps[1]), pair(taps[2], taps[3]), pair(taps[4], taps[5])]);
    let half = _mm256_set1_epi32(1 << 15);
    let [a, b, c] = [0, 2, 4].map(|offset| vectors::<LANES, _>(&row[offset..], count));
    let mut sum = _mm256_setzero_si256();
    for x in 0..count {
        let pairs = [_mm256_loadu_si256(&a[x]), _mm256_loadu_si256(&b[x]), _mm256_loadu_si256(&c[x])];
        for taps in taps {
            let blurred = _mm256_add_epi32(
                _mm256_add_epi32(_mm256_madd_epi16(pairs[0], taps[0]), half),
                _mm256_add_epi32(_mm256_madd_epi16(pairs[1], taps[1]), _mm256_madd_epi16(pairs[2], taps[2])),
            );
            sum = _mm256_add_epi32(sum, _mm256_abs_epi32(_mm256_srai_epi32::<16>(blurred)));
        }
    }
    let mut lanes = [0_u32; 8];
    _mm256_storeu_si256(&mut lanes, sum);
    lanes.into_iter().map(u64::from).sum::<u64>() + rest_of_sum(LANES * count, length, row)
}
