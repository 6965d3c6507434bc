//! The next scale: windows around the even columns of even rows.
#![allow(clippy::needless_range_loop, reason = "indices of vectors of several arrays")]

use std::arch::x86_64::{_mm512_cvtepi32_epi16, _mm512_set1_epi32, _mm512_slli_epi32, _mm512_srli_epi32};

use safe_unaligned_simd::x86_64::{_mm256_storeu_si256, _mm512_storeu_si512};

use super::filter::{BIAS, HALF, Weights, add, add_first_centre, columns_at, high_words, two_blocks};
use super::interleave::merge_words;
use super::{BLOCK, BLOCKS, Row, RowPair};
use crate::vif::filter::{MAX_PAIRS, is_wrapped, reach_in_pairs};
use crate::vif::strip::Strip;

/// Pairs by which the window of `SCALE` reaches further than that of the next scale.
const fn skipped(scale: usize) -> usize {
    reach_in_pairs(scale) - reach_in_pairs(next(scale))
}

/// The last scale has no next one.
const fn next(scale: usize) -> usize {
    if scale < 3 { scale + 1 } else { 3 }
}

/// Filters the columns of a picture around the first row of the middle pair.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn filter_columns<const SCALE: usize, const QUANTITIES: usize, const ROWS: usize>(
    weights: &Weights,
    window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
    blocks: usize,
    means: &mut Row,
) {
    let window = &window[const { skipped(SCALE) }..];
    for (block, means) in means.iter_mut().enumerate().take(blocks.min(BLOCKS)) {
        let bytes = const { QUANTITIES != ROWS };
        let start = if bytes { 128 - (1 << 23) } else { HALF };
        let mut sums = [_mm512_set1_epi32(start); 2];
        for (parity, sum) in sums.iter_mut().enumerate() {
            for (weights, rows) in weights.iter().zip(window) {
                *sum = add(*sum, rows.0[block][parity][0], weights[0]);
            }
            if const { is_wrapped(next(SCALE)) } {
                let middle = window[const { reach_in_pairs(next(SCALE)) }].0[block][parity][0];
                *sum = add_first_centre(*sum, middle);
            }
        }
        let [even, odd] = sums;
        let words = if bytes {
            merge_words(_mm512_srli_epi32::<8>(even), _mm512_slli_epi32::<8>(odd))
        } else {
            high_words(even, odd)
        };
        _mm512_storeu_si512(means, words);
    }
}

/// Filters rows around even columns into a row of the next scale.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn filter_rows<const SCALE: usize>(
    weights: &Weights,
    means: &Row,
    strip: &Strip,
    halved: &mut [u16],
) {
    let first = strip.start / 2;
    let columns = (strip.columns / 2).min(halved.len() - first);
    let mut row = [[0_u16; BLOCK / 2]; BLOCKS];
    for (block, samples) in row.iter_mut().enumerate().take(strip.columns.div_ceil(BLOCK)) {
        let mut sum = _mm512_set1_epi32(BIAS + HALF);
        let columns = two_blocks(means, block);
        for (pair, weights) in weights.iter().enumerate() {
            sum = add(sum, columns_at(columns, const { skipped(SCALE) } + pair), weights[0]);
        }
        if const { is_wrapped(next(SCALE)) } {
            sum = add_first_centre(sum, columns_at(columns, const { reach_in_pairs(SCALE) }));
        }
        let sum = _mm512_srli_epi32::<16>(sum);
        _mm256_storeu_si256(samples, _mm512_cvtepi32_epi16(sum));
    }
    halved[first..][..columns].copy_from_slice(&row.as_flattened()[..columns]);
}
