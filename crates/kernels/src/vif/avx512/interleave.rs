//! From rows of samples to pairs of rows.

use std::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_cvtepu8_epi16, _mm512_mask_blend_epi16, _mm512_mulhi_epu16,
    _mm512_mullo_epi16, _mm512_set1_epi16, _mm512_sll_epi16, _mm512_slli_epi32, _mm512_srli_epi32,
    _mm512_xor_si512,
};

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm512_loadu_si512};

use super::{BLOCK, DISTORTED_BYTES, DISTORTED_WORDS, REFERENCE_BYTES, REFERENCE_WORDS, RowPair, WIDTH};

/// Bytes stay as they are. Their products have 16 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
pub(super) fn reference_bytes(rows: [&[u8; WIDTH]; 2], blocks: usize, pair: &mut RowPair<REFERENCE_BYTES>) {
    let rows = rows.map(|row| row.as_chunks::<BLOCK>().0);
    for (block, vectors) in pair.0.iter_mut().enumerate().take(blocks) {
        let [first, second] = rows.map(|row| _mm512_cvtepu8_epi16(_mm256_loadu_si256(&row[block])));
        store(vectors, [(first, second), (low(first, first), low(second, second))]);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
pub(super) fn distorted_bytes(
    reference: [&[u8; WIDTH]; 2],
    distorted: [&[u8; WIDTH]; 2],
    blocks: usize,
    pair: &mut RowPair<DISTORTED_BYTES>,
) {
    let [reference, distorted] =
        [reference, distorted].map(|rows| rows.map(|row| row.as_chunks::<BLOCK>().0));
    for (block, vectors) in pair.0.iter_mut().enumerate().take(blocks) {
        let [first, second] = distorted.map(|row| _mm512_cvtepu8_epi16(_mm256_loadu_si256(&row[block])));
        let other = reference.map(|row| _mm512_cvtepu8_epi16(_mm256_loadu_si256(&row[block])));
        let quantities = [
            (first, second),
            (low(first, first), low(second, second)),
            (low(other[0], first), low(other[1], second)),
        ];
        store(vectors, quantities);
    }
}

/// Words are shifted to 16 bits. Their products have 32 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
pub(super) fn reference_words(
    rows: [&[u16; WIDTH]; 2],
    shift: u32,
    blocks: usize,
    pair: &mut RowPair<REFERENCE_WORDS>,
) {
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    let rows = rows.map(|row| row.as_chunks::<BLOCK>().0);
    for (block, vectors) in pair.0.iter_mut().enumerate().take(blocks) {
        let [first, second] = rows.map(|row| _mm512_sll_epi16(_mm512_loadu_si512(&row[block]), shift));
        let quantities = [
            (signed(first), signed(second)),
            (high(first, first), high(second, second)),
            (low(first, first), low(second, second)),
        ];
        store(vectors, quantities);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
pub(super) fn distorted_words(
    reference: [&[u16; WIDTH]; 2],
    distorted: [&[u16; WIDTH]; 2],
    shift: u32,
    blocks: usize,
    pair: &mut RowPair<DISTORTED_WORDS>,
) {
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    let [reference, distorted] =
        [reference, distorted].map(|rows| rows.map(|row| row.as_chunks::<BLOCK>().0));
    for (block, vectors) in pair.0.iter_mut().enumerate().take(blocks) {
        let [first, second] = distorted.map(|row| _mm512_sll_epi16(_mm512_loadu_si512(&row[block]), shift));
        let other = reference.map(|row| _mm512_sll_epi16(_mm512_loadu_si512(&row[block]), shift));
        let quantities = [
            (signed(first), signed(second)),
            (high(first, first), high(second, second)),
            (low(first, first), low(second, second)),
            (high(other[0], first), high(other[1], second)),
            (low(other[0], first), low(other[1], second)),
        ];
        store(vectors, quantities);
    }
}

/// Makes unsigned words signed.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn signed(words: __m512i) -> __m512i {
    _mm512_xor_si512(words, _mm512_set1_epi16(i16::MIN))
}

/// The high words of products.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn high(first: __m512i, second: __m512i) -> __m512i {
    signed(_mm512_mulhi_epu16(first, second))
}

/// The low words of products.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn low(first: __m512i, second: __m512i) -> __m512i {
    signed(_mm512_mullo_epi16(first, second))
}

/// Stores quantities of two rows of a block.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn store<const QUANTITIES: usize>(
    vectors: &mut [[__m512i; QUANTITIES]; 2],
    quantities: [(__m512i, __m512i); QUANTITIES],
) {
    for (quantity, (first, second)) in quantities.into_iter().enumerate() {
        [vectors[0][quantity], vectors[1][quantity]] = pair_columns(first, second);
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
