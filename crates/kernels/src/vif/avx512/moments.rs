//! Variances and covariances from rows between the passes.

use std::arch::x86_64::{
    __m512i, __mmask16, _mm512_add_epi64, _mm512_mask_blend_epi32, _mm512_maskz_mov_epi32, _mm512_max_epi32,
    _mm512_mul_epu32, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_srli_epi64, _mm512_sub_epi32,
};

use super::filter::{BIAS, HALF, Weights, join, rows};
use super::{BLOCK, BLOCKS, DistortedMoments, DistortedRows, ReferenceMoments, ReferenceRows};
use crate::vif::strip::Strip;

/// What the sums of the high and low words of a product start from. The low half is less by 32768 after the shift, which the
/// high half makes good.
const PRODUCT: [i32; 2] = [BIAS + HALF, HALF];

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn of_reference<const SCALE: usize>(
    weights: &Weights,
    streams: &ReferenceRows,
    strip: &Strip,
    moments: &mut [[ReferenceMoments; 2]; BLOCKS],
) {
    for (block, moments) in moments.iter_mut().enumerate().take(strip.columns.div_ceil(BLOCK)) {
        let [mean, high, low] = rows::<SCALE, 3>(weights, streams, block, [BIAS, PRODUCT[0], PRODUCT[1]]);
        for parity in 0..2 {
            let square = join(high[parity], low[parity]);
            let odd = _mm512_srli_epi64::<32>(mean[parity]);
            let squared = product([mean[parity], odd], [mean[parity], odd]);
            moments[parity] = [mean[parity], _mm512_sub_epi32(square, squared)];
        }
    }
    clear_outside(strip, moments);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn of_distorted<const SCALE: usize>(
    weights: &Weights,
    streams: &DistortedRows,
    reference: &[[ReferenceMoments; 2]; BLOCKS],
    strip: &Strip,
    moments: &mut [[DistortedMoments; 2]; BLOCKS],
) {
    const START: [i32; 5] = [BIAS, PRODUCT[0], PRODUCT[1], PRODUCT[0], PRODUCT[1]];
    let blocks = moments.iter_mut().zip(reference).enumerate();
    for (block, (moments, reference)) in blocks.take(strip.columns.div_ceil(BLOCK)) {
        let [mean, high, low, mixed_high, mixed_low] = rows::<SCALE, 5>(weights, streams, block, START);
        for parity in 0..2 {
            let [reference_mean, _] = reference[parity];
            let reference_mean = [reference_mean, _mm512_srli_epi64::<32>(reference_mean)];
            let mean = [mean[parity], _mm512_srli_epi64::<32>(mean[parity])];
            let square = join(high[parity], low[parity]);
            let mixed = join(mixed_high[parity], mixed_low[parity]);
            let variance = _mm512_sub_epi32(square, product(mean, mean));
            moments[parity] = [
                _mm512_max_epi32(variance, _mm512_setzero_si512()),
                _mm512_sub_epi32(mixed, product(reference_mean, mean)),
            ];
        }
    }
    clear_outside(strip, moments);
}

/// Lanes outside the picture get moments of zero.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn clear_outside(strip: &Strip, moments: &mut [[[__m512i; 2]; 2]; BLOCKS]) {
    let inside = strip.columns % BLOCK;
    if inside != 0
        && let Some(last) = moments.get_mut(strip.columns / BLOCK)
    {
        for (parity, vectors) in last.iter_mut().enumerate() {
            let mask = columns_below(inside, parity);
            *vectors = vectors.map(|vector| _mm512_maskz_mov_epi32(mask, vector));
        }
    }
}

/// Rounded upper halves of products of unsigned lanes. Each factor comes with its odd lanes moved to even ones.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn product(first: [__m512i; 2], second: [__m512i; 2]) -> __m512i {
    let half = _mm512_set1_epi64(1 << 31);
    let even = _mm512_add_epi64(_mm512_mul_epu32(first[0], second[0]), half);
    let odd = _mm512_add_epi64(_mm512_mul_epu32(first[1], second[1]), half);
    _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64::<32>(even), odd)
}

/// Lanes of even or odd columns of a block of which `columns` are inside the picture.
fn columns_below(columns: usize, parity: usize) -> __mmask16 {
    let lanes = (columns + 1 - parity) / 2;
    if lanes < 16 { (1 << lanes) - 1 } else { __mmask16::MAX }
}
