//! Windows over pairs of rows and pairs of columns.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_madd_epi16, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_slli_epi32, _mm256_srai_epi32, _mm256_srli_epi32, _mm256_xor_si256,
};

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

use super::interleave::merge_words;
use super::{BLOCK, BLOCKS, Buffers, OF_BYTES, Row, RowPair};
use crate::vif::filter::{MAX_PAIRS, is_wrapped, pair_weights, pairs, reach_in_pairs};

/// What is added to a sum before its last 16 bits are dropped.
pub(super) const HALF: i32 = 1 << 15;

/// What the words' bias takes from a sum.
pub(super) const BIAS: i32 = i32::MIN;

/// Adds pair `pair` to the sums of the windows around both samples of the middle pair.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add_pair<const SCALE: usize>(pair: usize, samples: __m256i, sums: &mut [__m256i; 2]) {
    for (parity, sum) in sums.iter_mut().enumerate() {
        let weights = _mm256_set1_epi32(pair_weights(SCALE, pair, parity));
        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(samples, weights));
    }
    if const { is_wrapped(SCALE) } && pair == const { reach_in_pairs(SCALE) } {
        let odd = _mm256_and_si256(samples, _mm256_set1_epi32(i32::MIN >> 15));
        sums[0] = _mm256_add_epi32(sums[0], _mm256_slli_epi32::<16>(samples));
        sums[1] = _mm256_add_epi32(sums[1], odd);
    }
}

/// Sums of `N` quantities, from the `FROM`th on, over the windows around both rows of the middle pair.
#[target_feature(enable = "avx2")]
#[inline]
fn columns<const SCALE: usize, const QUANTITIES: usize, const FROM: usize, const N: usize>(
    window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
    block: usize,
    parity: usize,
    start: [i32; N],
) -> [[__m256i; 2]; N] {
    let mut sums = start.map(|start| [_mm256_set1_epi32(start); 2]);
    for pair in 0..const { pairs(SCALE) } {
        let vectors = &window[pair].0[block][parity];
        for (quantity, sums) in sums.iter_mut().enumerate() {
            add_pair::<SCALE>(pair, vectors[FROM + quantity], sums);
        }
    }
    sums
}

/// Sums of `N` rows over the windows around the even columns of a block, and around the odd ones.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn rows<const SCALE: usize, const N: usize>(
    rows: &[Row; N],
    block: usize,
    start: [i32; N],
) -> [[__m256i; 2]; N] {
    let mut sums = start.map(|start| [_mm256_set1_epi32(start); 2]);
    for pair in 0..const { pairs(SCALE) } {
        for (row, sums) in rows.iter().zip(&mut sums) {
            add_pair::<SCALE>(pair, columns_at(row, block, 2 * pair), sums);
        }
    }
    sums
}

/// 16 columns of a row, from column `offset` of a block on.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn columns_at(row: &Row, block: usize, offset: usize) -> __m256i {
    let columns =
        row.as_flattened().get(block * BLOCK + offset..).and_then(|columns| columns.first_chunk::<BLOCK>());
    _mm256_loadu_si256(columns.unwrap_or(&[0; BLOCK]))
}

impl Buffers {
    /// Fills `rows`.
    #[target_feature(enable = "avx2")]
    pub(super) fn filter_columns<const SCALE: usize, const QUANTITIES: usize>(
        &mut self,
        window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
        blocks: usize,
    ) {
        for block in 0..blocks.min(BLOCKS) {
            if const { QUANTITIES == OF_BYTES } {
                self.filter_bytes::<SCALE, QUANTITIES>(window, block);
            } else {
                self.filter_words::<SCALE, QUANTITIES>(window, block);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn filter_bytes<const SCALE: usize, const QUANTITIES: usize>(
        &mut self,
        window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
        block: usize,
    ) {
        // Means are divided by 256 and kept less 32768. Products are exact.
        const MEAN: i32 = 128 - (1 << 23);
        let [even, odd] = [0, 1].map(|parity| {
            columns::<SCALE, QUANTITIES, 0, OF_BYTES>(window, block, parity, [MEAN, MEAN, 0, 0, 0])
        });
        for (row, streams) in self.rows.iter_mut().enumerate() {
            for picture in 0..2 {
                let (even, odd) = (even[picture][row], odd[picture][row]);
                let means = merge_words(_mm256_srli_epi32::<8>(even), _mm256_slli_epi32::<8>(odd));
                _mm256_storeu_si256(&mut streams[picture][block], means);
            }
            for product in 0..3 {
                let [high, low] = split(even[2 + product][row], odd[2 + product][row]);
                _mm256_storeu_si256(&mut streams[2 + 2 * product][block], high);
                _mm256_storeu_si256(&mut streams[3 + 2 * product][block], low);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn filter_words<const SCALE: usize, const QUANTITIES: usize>(
        &mut self,
        window: &[&RowPair<QUANTITIES>; MAX_PAIRS],
        block: usize,
    ) {
        // The low half of a product is less by 32768 after the shift, which the high half makes good.
        const START: [i32; 4] = [HALF, HALF, HALF, HALF];
        let [even, odd] =
            [0, 1].map(|parity| columns::<SCALE, QUANTITIES, 0, 4>(window, block, parity, START));
        for (row, streams) in self.rows.iter_mut().enumerate() {
            for picture in 0..2 {
                let means = high_words(even[picture][row], odd[picture][row]);
                _mm256_storeu_si256(&mut streams[picture][block], means);
            }
            let product = |sums: &[[__m256i; 2]; 4]| join(sums[2][row], sums[3][row]);
            let [high, low] = split(product(&even), product(&odd));
            _mm256_storeu_si256(&mut streams[2][block], high);
            _mm256_storeu_si256(&mut streams[3][block], low);
        }
        let [even, odd] =
            [0, 1].map(|parity| columns::<SCALE, QUANTITIES, 4, 4>(window, block, parity, START));
        for (row, streams) in self.rows.iter_mut().enumerate() {
            for product in [0, 2] {
                let joined = |sums: &[[__m256i; 2]; 4]| join(sums[product][row], sums[product + 1][row]);
                let [high, low] = split(joined(&even), joined(&odd));
                _mm256_storeu_si256(&mut streams[4 + product][block], high);
                _mm256_storeu_si256(&mut streams[5 + product][block], low);
            }
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
