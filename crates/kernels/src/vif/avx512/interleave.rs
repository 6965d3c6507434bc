//! From rows of samples to pairs of rows.

use std::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_cvtepu8_epi16, _mm512_mask_blend_epi16, _mm512_mulhi_epu16,
    _mm512_mullo_epi16, _mm512_set1_epi16, _mm512_sll_epi16, _mm512_slli_epi32, _mm512_srli_epi32,
    _mm512_xor_si512,
};

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm512_loadu_si512};

use super::{BLOCK, OF_BYTES, OF_WORDS, RowPair, WIDTH};

/// Bytes stay as they are. Their products have 16 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
pub(super) fn bytes(rows: [&[u8; WIDTH]; 4], blocks: usize, pair: &mut RowPair<OF_BYTES>) {
    let sign = _mm512_set1_epi16(i16::MIN);
    let rows = rows.map(|row| row.as_chunks::<BLOCK>().0);
    for (block, vectors) in pair.0.iter_mut().enumerate().take(blocks) {
        let [reference, next_reference, distorted, next_distorted] =
            rows.map(|row| _mm512_cvtepu8_epi16(_mm256_loadu_si256(&row[block])));
        let product = |first, second| _mm512_xor_si512(_mm512_mullo_epi16(first, second), sign);
        let quantities = [
            (reference, next_reference),
            (distorted, next_distorted),
            (product(reference, reference), product(next_reference, next_reference)),
            (product(distorted, distorted), product(next_distorted, next_distorted)),
            (product(reference, distorted), product(next_reference, next_distorted)),
        ];
        for (quantity, (first, second)) in quantities.into_iter().enumerate() {
            [vectors[0][quantity], vectors[1][quantity]] = pair_columns(first, second);
        }
    }
}

/// Words are shifted to 16 bits. Their products have 32 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
pub(super) fn words(rows: [&[u16; WIDTH]; 4], shift: u32, blocks: usize, pair: &mut RowPair<OF_WORDS>) {
    let sign = _mm512_set1_epi16(i16::MIN);
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    let rows = rows.map(|row| row.as_chunks::<BLOCK>().0);
    for (block, vectors) in pair.0.iter_mut().enumerate().take(blocks) {
        let [reference, next_reference, distorted, next_distorted] =
            rows.map(|row| _mm512_sll_epi16(_mm512_loadu_si512(&row[block]), shift));
        let signed = |unsigned| _mm512_xor_si512(unsigned, sign);
        let high = |first, second| signed(_mm512_mulhi_epu16(first, second));
        let low = |first, second| signed(_mm512_mullo_epi16(first, second));
        let quantities = [
            (signed(reference), signed(next_reference)),
            (signed(distorted), signed(next_distorted)),
            (high(reference, reference), high(next_reference, next_reference)),
            (low(reference, reference), low(next_reference, next_reference)),
            (high(distorted, distorted), high(next_distorted, next_distorted)),
            (low(distorted, distorted), low(next_distorted, next_distorted)),
            (high(reference, distorted), high(next_reference, next_distorted)),
            (low(reference, distorted), low(next_reference, next_distorted)),
        ];
        for (quantity, (first, second)) in quantities.into_iter().enumerate() {
            [vectors[0][quantity], vectors[1][quantity]] = pair_columns(first, second);
        }
    }
}

/// The even columns of two rows, and the odd ones.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn pair_columns(first: __m512i, second: __m512i) -> [__m512i; 2] {
    [merge_words(first, _mm512_slli_epi32::<16>(second)), merge_words(_mm512_srli_epi32::<16>(first), second)]
}

/// The low words of lanes of 32 bits from `low`, and the high ones from `high`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
pub(super) fn merge_words(low: __m512i, high: __m512i) -> __m512i {
    _mm512_mask_blend_epi16(0xaaaa_aaaa, low, high)
}
