//! The next scale: windows around the even columns of even rows.
#![allow(clippy::needless_range_loop, reason = "indices of vectors of several arrays")]

use std::arch::x86_64::{
    _mm256_castsi256_si128, _mm256_packus_epi32, _mm256_permute4x64_epi64, _mm256_set1_epi32,
    _mm256_slli_epi32, _mm256_srli_epi32,
};

use safe_unaligned_simd::x86_64::{_mm_storeu_si128, _mm256_storeu_si256};

use super::filter::{BIAS, HALF, Weights, add, add_first_centre, columns_at, high_words, two_blocks};
use super::interleave::merge_words;
use super::{BLOCK, BLOCKS, COLUMNS, OF_BYTES, Row, RowPair};
use crate::vif::filter::{MAX_PAIRS, is_wrapped, reach_in_pairs};
use crate::vif::pictures::Halved;
use crate::vif::strip::Strip;

/// Pairs by which the window of `SCALE` reaches further than that of the next scale.
const fn skipped(scale: usize) -> usize {
    reach_in_pairs(scale) - reach_in_pairs(next(scale))
}

/// The last scale has no next one.
const fn next(scale: usize) -> usize {
    if scale < 3 { scale + 1 } else { 3 }
}

/// Filters the columns of both pictures around the first row of the middle pair.
#[target_feature(enable = "avx2")]
pub(super) fn filter_columns<const SCALE: usize, const QUANTITIES: usize>(
    weights: &Weights,
    window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
    blocks: usize,
    means: &mut [Row; 2],
) {
    for block in 0..blocks.min(BLOCKS) {
        for (picture, means) in means.iter_mut().enumerate() {
            let bytes = const { QUANTITIES == OF_BYTES };
            let start = if bytes { 128 - (1 << 23) } else { HALF };
            let mut sums = [_mm256_set1_epi32(start); 2];
            for (parity, sum) in sums.iter_mut().enumerate() {
                let window = &window[const { skipped(SCALE) }..];
                for (weights, rows) in weights.iter().zip(window) {
                    *sum = add(*sum, rows.0[block][parity][picture], weights[0]);
                }
                if const { is_wrapped(next(SCALE)) } {
                    let middle = window[const { reach_in_pairs(next(SCALE)) }].0[block][parity][picture];
                    *sum = add_first_centre(*sum, middle);
                }
            }
            let [even, odd] = sums;
            let words = if bytes {
                merge_words(_mm256_srli_epi32::<8>(even), _mm256_slli_epi32::<8>(odd))
            } else {
                high_words(even, odd)
            };
            _mm256_storeu_si256(&mut means[block], words);
        }
    }
}

/// Filters rows around even columns into row `y` of the next scale.
#[target_feature(enable = "avx2")]
pub(super) fn filter_rows<const SCALE: usize>(
    weights: &Weights,
    means: &[Row; 2],
    strip: &Strip,
    y: usize,
    halved: &mut Halved,
) {
    let first = strip.start / 2;
    let columns = (strip.columns / 2).min(halved.width - first);
    for (means, picture) in means.iter().zip([&mut halved.reference, &mut halved.distorted]) {
        let mut row = [[0_u16; BLOCK / 2]; COLUMNS / BLOCK];
        for (block, samples) in row.iter_mut().enumerate().take(strip.columns.div_ceil(BLOCK)) {
            let mut sum = _mm256_set1_epi32(BIAS + HALF);
            let columns = two_blocks(means, block);
            for (pair, weights) in weights.iter().enumerate() {
                sum = add(sum, columns_at(columns, const { skipped(SCALE) } + pair), weights[0]);
            }
            if const { is_wrapped(next(SCALE)) } {
                sum = add_first_centre(sum, columns_at(columns, const { reach_in_pairs(SCALE) }));
            }
            let sum = _mm256_srli_epi32::<16>(sum);
            let packed = _mm256_permute4x64_epi64::<0b1000>(_mm256_packus_epi32(sum, sum));
            _mm_storeu_si128(samples, _mm256_castsi256_si128(packed));
        }
        let row = &row.as_flattened()[..columns];
        picture[y * halved.width + first..][..columns].copy_from_slice(row);
    }
}
