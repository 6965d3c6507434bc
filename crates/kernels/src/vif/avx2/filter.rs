//! Windows over pairs of rows and pairs of columns.
#![allow(clippy::needless_range_loop, reason = "indices of vectors of several arrays")]

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_madd_epi16, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_srli_epi32, _mm256_xor_si256,
};

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

use super::interleave::merge_words;
use super::{BLOCK, BLOCKS, Row, RowPair};
use crate::vif::filter::{MAX_PAIRS, is_wrapped, pair_weights, pairs, reach_in_pairs};

/// What is added to a sum before its last 16 bits are dropped.
pub(super) const HALF: i32 = 1 << 15;

/// What the words' bias takes from a sum.
pub(super) const BIAS: i32 = i32::MIN;

/// The weights of each pair in the windows of the first and of the second sample of the middle pair. Their number is not a
/// constant, so that the compiler keeps the loops over them: unrolled, they need more registers than there are.
pub(super) type Weights = [[__m256i; 2]];

#[target_feature(enable = "avx2")]
pub(super) fn weights(scale: usize) -> Box<Weights> {
    let of_pair = |pair| [0, 1].map(|parity| _mm256_set1_epi32(pair_weights(scale, pair, parity)));
    (0..pairs(scale)).map(of_pair).collect()
}

/// Adds a pair to a sum.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add(sum: __m256i, samples: __m256i, weights: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_madd_epi16(samples, weights))
}

/// What the sum of the first sample's window lacks if the weight of the centre wrapped.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add_first_centre(sum: __m256i, middle: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_slli_epi32::<16>(middle))
}

/// What the sum of the second sample's window lacks if the weight of the centre wrapped.
#[target_feature(enable = "avx2")]
#[inline]
fn add_second_centre(sum: __m256i, middle: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_and_si256(middle, _mm256_set1_epi32(i32::MIN >> 15)))
}

/// Sums of all quantities over the windows around both rows of the middle pair.
#[target_feature(enable = "avx2")]
#[inline]
fn columns<const SCALE: usize, const QUANTITIES: usize>(
    weights: &Weights,
    window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
    block: usize,
    parity: usize,
    start: [i32; QUANTITIES],
) -> [[__m256i; 2]; QUANTITIES] {
    let mut sums = [[_mm256_setzero_si256(); 2]; QUANTITIES];
    for quantity in 0..QUANTITIES {
        sums[quantity] = [_mm256_set1_epi32(start[quantity]); 2];
    }
    for (weights, rows) in weights.iter().zip(window) {
        let vectors = &rows.0[block][parity];
        for quantity in 0..QUANTITIES {
            let samples = vectors[quantity];
            sums[quantity][0] = add(sums[quantity][0], samples, weights[0]);
            sums[quantity][1] = add(sums[quantity][1], samples, weights[1]);
        }
    }
    if const { is_wrapped(SCALE) } {
        let vectors = &window[const { reach_in_pairs(SCALE) }].0[block][parity];
        for quantity in 0..QUANTITIES {
            let middle = vectors[quantity];
            sums[quantity][0] = add_first_centre(sums[quantity][0], middle);
            sums[quantity][1] = add_second_centre(sums[quantity][1], middle);
        }
    }
    sums
}

/// Sums of `N` rows over the windows around the even columns of a block, and around the odd ones.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn rows<const SCALE: usize, const N: usize>(
    weights: &Weights,
    rows: &[Row; N],
    block: usize,
    start: [i32; N],
) -> [[__m256i; 2]; N] {
    let mut sums = [[_mm256_setzero_si256(); 2]; N];
    let mut columns = [&[0; 2 * BLOCK]; N];
    for row in 0..N {
        sums[row] = [_mm256_set1_epi32(start[row]); 2];
        columns[row] = two_blocks(&rows[row], block);
    }
    for (pair, weights) in weights.iter().enumerate() {
        for row in 0..N {
            let samples = columns_at(columns[row], pair);
            sums[row][0] = add(sums[row][0], samples, weights[0]);
            sums[row][1] = add(sums[row][1], samples, weights[1]);
        }
    }
    if const { is_wrapped(SCALE) } {
        for row in 0..N {
            let middle = columns_at(columns[row], const { reach_in_pairs(SCALE) });
            sums[row][0] = add_first_centre(sums[row][0], middle);
            sums[row][1] = add_second_centre(sums[row][1], middle);
        }
    }
    sums
}

/// A block and the one behind it.
#[inline]
pub(super) fn two_blocks(row: &Row, block: usize) -> &[i16; 2 * BLOCK] {
    const NONE: &[i16; 2 * BLOCK] = &[0; 2 * BLOCK];
    row.as_flattened().get(block * BLOCK..).and_then(|columns| columns.first_chunk()).unwrap_or(NONE)
}

/// 16 columns from the `pair`th pair of two blocks on.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn columns_at(columns: &[i16; 2 * BLOCK], pair: usize) -> __m256i {
    let from = &columns[(2 * pair).min(BLOCK)..];
    _mm256_loadu_si256(from.first_chunk::<BLOCK>().unwrap_or(&[0; BLOCK]))
}

/// Filters columns around both rows of the middle pair. Pairs have a quantity for each product of bytes, and two for each
/// product of words; rows always have two.
#[target_feature(enable = "avx2")]
pub(super) fn columns_of_pair<const SCALE: usize, const QUANTITIES: usize, const ROWS: usize>(
    weights: &Weights,
    window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
    blocks: usize,
    rows: &mut [[Row; ROWS]; 2],
) {
    for block in 0..blocks.min(BLOCKS) {
        if const { QUANTITIES == ROWS } {
            filter_words::<SCALE, QUANTITIES, ROWS>(weights, window, block, rows);
        } else {
            filter_bytes::<SCALE, QUANTITIES, ROWS>(weights, window, block, rows);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn filter_bytes<const SCALE: usize, const QUANTITIES: usize, const ROWS: usize>(
    weights: &Weights,
    window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
    block: usize,
    rows: &mut [[Row; ROWS]; 2],
) {
    // Means are divided by 256 and kept less 32768. Products are exact.
    let mut start = [0; QUANTITIES];
    start[0] = 128 - (1 << 23);
    let even = columns::<SCALE, QUANTITIES>(weights, window, block, 0, start);
    let odd = columns::<SCALE, QUANTITIES>(weights, window, block, 1, start);
    for (row, streams) in rows.iter_mut().enumerate() {
        let means = merge_words(_mm256_srli_epi32::<8>(even[0][row]), _mm256_slli_epi32::<8>(odd[0][row]));
        _mm256_storeu_si256(&mut streams[0][block], means);
        for product in 1..QUANTITIES {
            let [high, low] = split(even[product][row], odd[product][row]);
            _mm256_storeu_si256(&mut streams[2 * product - 1][block], high);
            _mm256_storeu_si256(&mut streams[2 * product][block], low);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn filter_words<const SCALE: usize, const QUANTITIES: usize, const ROWS: usize>(
    weights: &Weights,
    window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
    block: usize,
    rows: &mut [[Row; ROWS]; 2],
) {
    // The low half of a product is less by 32768 after the shift, which the high half makes good.
    let start = [HALF; QUANTITIES];
    let even = columns::<SCALE, QUANTITIES>(weights, window, block, 0, start);
    let odd = columns::<SCALE, QUANTITIES>(weights, window, block, 1, start);
    for (row, streams) in rows.iter_mut().enumerate() {
        _mm256_storeu_si256(&mut streams[0][block], high_words(even[0][row], odd[0][row]));
        for product in (1..QUANTITIES).step_by(2) {
            let joined = |sums: &[[__m256i; 2]; QUANTITIES]| join(sums[product][row], sums[product + 1][row]);
            let [high, low] = split(joined(&even), joined(&odd));
            _mm256_storeu_si256(&mut streams[product][block], high);
            _mm256_storeu_si256(&mut streams[product + 1][block], low);
        }
    }
}

/// A sum of products from the sums of its high and low words.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn join(high: __m256i, low: __m256i) -> __m256i {
    _mm256_add_epi32(high, _mm256_srai_epi32::<16>(low))
}

/// High and low words of sums at even and at odd columns, in natural order.
#[target_feature(enable = "avx2")]
#[inline]
fn split(even: __m256i, odd: __m256i) -> [__m256i; 2] {
    let low = merge_words(even, _mm256_slli_epi32::<16>(odd));
    [high_words(even, odd), _mm256_xor_si256(low, _mm256_set1_epi16(i16::MIN))]
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn high_words(even: __m256i, odd: __m256i) -> __m256i {
    merge_words(_mm256_srli_epi32::<16>(even), odd)
}
