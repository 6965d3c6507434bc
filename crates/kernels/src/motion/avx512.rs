//! The kernels for AVX-512: those for AVX2 with twice the lanes, and sums of products in one instruction.

// Intrinsics are imported as a whole, and rows are named by letters.
#![allow(clippy::wildcard_imports, clippy::many_single_char_names)]

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm512_loadu_si512, _mm512_storeu_si512};

use super::FILTER;
use super::vector::{difference, rest_of_sum};
use crate::vectors::vectors;

/// Samples in one vector of differences.
const LANES: usize = 32;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn widened_bytes(samples: &[u8; LANES]) -> __m512i {
    _mm512_cvtepu8_epi16(_mm256_loadu_si256(samples))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn words(samples: &[u16; LANES]) -> __m512i {
    _mm512_loadu_si512(samples)
}

difference!(
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni",
    difference_bytes,
    u8,
    |before, now| _mm512_sub_epi16(widened_bytes(before), widened_bytes(now)),
    _mm512_storeu_si512
);
difference!(
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni",
    difference_words,
    u16,
    |before, now| _mm512_sub_epi16(words(before), words(now)),
    _mm512_storeu_si512
);

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pair(low: i16, high: i16) -> __m512i {
    let [low, high] = [low, high].map(|tap| u32::from(tap.cast_unsigned()));
    _mm512_set1_epi32((low | high << 16).cast_signed())
}

/// The vertical pass. Whether a value may have saturated.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn vertical(depth: u32, length: usize, rows: [&[i16]; 5], blurred: &mut [i16]) -> bool {
    let count = length.div_ceil(LANES);
    let [a, b, c, d, e] = rows.map(|row| vectors::<LANES, _>(row, count));
    let blurred = &mut blurred.as_chunks_mut::<LANES>().0[..count];
    let outer = pair(FILTER[0], FILTER[1]);
    // The middle tap, and half of the result's unit, which one is multiplied with. That of 12 bits is 2048.
    let middle = pair(FILTER[2], 1 << (depth - 1));
    let one = _mm512_set1_epi16(1);
    let shift = _mm512_set1_epi32(depth.cast_signed());
    let (mut least, mut most) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    for x in 0..count {
        let far = _mm512_add_epi16(_mm512_loadu_si512(&a[x]), _mm512_loadu_si512(&e[x]));
        let near = _mm512_add_epi16(_mm512_loadu_si512(&b[x]), _mm512_loadu_si512(&d[x]));
        let own = _mm512_loadu_si512(&c[x]);
        let low = _mm512_dpwssd_epi32(
            _mm512_madd_epi16(_mm512_unpacklo_epi16(far, near), outer),
            _mm512_unpacklo_epi16(own, one),
            middle,
        );
        let high = _mm512_dpwssd_epi32(
            _mm512_madd_epi16(_mm512_unpackhi_epi16(far, near), outer),
            _mm512_unpackhi_epi16(own, one),
            middle,
        );
        let packed = _mm512_packs_epi32(_mm512_srav_epi32(low, shift), _mm512_srav_epi32(high, shift));
        _mm512_storeu_si512(&mut blurred[x], packed);
        least = _mm512_min_epi16(least, packed);
        most = _mm512_max_epi16(most, packed);
    }
    let saturated = _mm512_cmpeq_epi16_mask(least, _mm512_set1_epi16(i16::MIN))
        | _mm512_cmpeq_epi16_mask(most, _mm512_set1_epi16(i16::MAX));
    saturated != 0
}

/// The horizontal pass, and the sum of the magnitudes. `row` starts two samples before the first, and ends two after the last.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn horizontal(length: usize, row: &[i16]) -> u64 {
    let count = length / LANES;
    let taps = [
        [FILTER[0], FILTER[1], FILTER[2], FILTER[3], FILTER[4], 0],
        [0, FILTER[0], FILTER[1], FILTER[2], FILTER[3], FILTER[4]],
    ]
    .map(|taps| [pair(taps[0], taps[1]), pair(taps[2], taps[3]), pair(taps[4], taps[5])]);
    let half = _mm512_set1_epi32(1 << 15);
    let vectors = vectors::<LANES, _>(row, count + 1);
    let mut sum = _mm512_setzero_si512();
    let mut next = _mm512_loadu_si512(&vectors[0]);
    for vector in &vectors[1..] {
        let first = next;
        next = _mm512_loadu_si512(vector);
        let second = _mm512_alignr_epi32::<1>(next, first);
        let third = _mm512_alignr_epi32::<2>(next, first);
        for taps in taps {
            let blurred = _mm512_dpwssd_epi32(half, first, taps[0]);
            let blurred = _mm512_dpwssd_epi32(blurred, second, taps[1]);
            let blurred = _mm512_dpwssd_epi32(blurred, third, taps[2]);
            sum = _mm512_add_epi32(sum, _mm512_abs_epi32(_mm512_srai_epi32::<16>(blurred)));
        }
    }
    let mut lanes = [0_u32; 16];
    _mm512_storeu_si512(&mut lanes, sum);
    lanes.into_iter().map(u64::from).sum::<u64>() + rest_of_sum(LANES * count, length, row)
}
