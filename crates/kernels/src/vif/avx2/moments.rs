//! Variances and covariances from rows between the passes.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_blend_epi32, _mm256_cmpgt_epi32, _mm256_max_epi32,
    _mm256_mul_epu32, _mm256_set_epi32, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_srli_epi64, _mm256_sub_epi32,
};

use super::filter::{BIAS, HALF, Weights, join, rows};
use super::{BLOCK, BLOCKS, Rows, Variances};
use crate::vif::strip::Strip;

/// Lanes outside the picture get variances of zero.
#[target_feature(enable = "avx2")]
pub(super) fn variances<const SCALE: usize>(
    weights: &Weights,
    streams: &Rows,
    strip: &Strip,
    variances: &mut [[Variances; 2]; BLOCKS - 1],
) {
    // The low half of a product is less by 32768 after the shift, which the high half makes good.
    const PRODUCT: [i32; 2] = [BIAS + HALF, HALF];
    let Some((first, second)) = streams.split_first_chunk::<4>() else { return };
    let Some(second) = second.first_chunk::<4>() else { return };
    for (block, variances) in variances.iter_mut().enumerate().take(strip.columns.div_ceil(BLOCK)) {
        let start = [BIAS, BIAS, PRODUCT[0], PRODUCT[1]];
        let [mean, other_mean, high, low] = rows::<SCALE, 4>(weights, first, block, start);
        let start = [PRODUCT[0], PRODUCT[1], PRODUCT[0], PRODUCT[1]];
        let [other_high, other_low, mixed_high, mixed_low] = rows::<SCALE, 4>(weights, second, block, start);
        for parity in 0..2 {
            let products = [
                join(high[parity], low[parity]),
                join(other_high[parity], other_low[parity]),
                join(mixed_high[parity], mixed_low[parity]),
            ];
            variances[parity] = central(mean[parity], other_mean[parity], products);
        }
    }
    let inside = strip.columns % BLOCK;
    if inside != 0
        && let Some(last) = variances.get_mut(strip.columns / BLOCK)
    {
        for (parity, vectors) in last.iter_mut().enumerate() {
            let mask = columns_below(inside, parity);
            *vectors = vectors.map(|vector| _mm256_and_si256(vector, mask));
        }
    }
}

/// Moments around the means.
#[target_feature(enable = "avx2")]
#[inline]
fn central(mean: __m256i, other_mean: __m256i, products: [__m256i; 3]) -> Variances {
    let (odd, other_odd) = (_mm256_srli_epi64::<32>(mean), _mm256_srli_epi64::<32>(other_mean));
    let [square, other_square, mixed] = products;
    let other = _mm256_sub_epi32(other_square, product([other_mean, other_odd], [other_mean, other_odd]));
    [
        _mm256_sub_epi32(square, product([mean, odd], [mean, odd])),
        _mm256_max_epi32(other, _mm256_setzero_si256()),
        _mm256_sub_epi32(mixed, product([mean, odd], [other_mean, other_odd])),
    ]
}

/// Rounded upper halves of products of unsigned lanes. Each factor comes with its odd lanes moved to even ones.
#[target_feature(enable = "avx2")]
#[inline]
fn product(first: [__m256i; 2], second: [__m256i; 2]) -> __m256i {
    let half = _mm256_set1_epi64x(1 << 31);
    let even = _mm256_add_epi64(_mm256_mul_epu32(first[0], second[0]), half);
    let odd = _mm256_add_epi64(_mm256_mul_epu32(first[1], second[1]), half);
    _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd)
}

/// Lanes of even or odd columns of a block of which `columns` are inside the picture.
#[target_feature(enable = "avx2")]
#[inline]
fn columns_below(columns: usize, parity: usize) -> __m256i {
    let [columns, parity] = [columns, parity].map(|count| i32::try_from(count).unwrap_or(0));
    let first = _mm256_set_epi32(14, 12, 10, 8, 6, 4, 2, 0);
    _mm256_cmpgt_epi32(_mm256_set1_epi32(columns - parity), first)
}
