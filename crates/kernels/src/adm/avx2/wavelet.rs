//! The wavelet transform: pairs of samples times pairs of taps.
//!
//! Coefficients of 32 bits are split into a signed high and a biased low word, so that `v = 65536 high + low + 32768`. The
//! filter's sum of high words is exact at the position of the result, and only that of low words is rounded.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm_loadu_si128, _mm256_loadu_si256, _mm256_storeu_si256};

use crate::adm::{HIGH_PASS, LOW_PASS, scalar};
use crate::vectors::{for_each_vector, vectors, vectors_mut};

/// Two taps of a filter in each 32-bit lane.
#[target_feature(enable = "avx2")]
fn pair(taps: [i16; 4], first: usize) -> __m256i {
    let [low, high] = [taps[first], taps[first + 1]].map(|tap| u32::from(tap.cast_unsigned()));
    _mm256_set1_epi32((low | high << 16).cast_signed())
}

/// Both filters, as pairs of taps: low pass, then high pass.
#[target_feature(enable = "avx2")]
fn filters() -> [[__m256i; 2]; 2] {
    [[pair(LOW_PASS, 0), pair(LOW_PASS, 2)], [pair(HIGH_PASS, 0), pair(HIGH_PASS, 2)]]
}

#[target_feature(enable = "avx2")]
fn dot(pairs: [__m256i; 2], taps: [__m256i; 2]) -> __m256i {
    _mm256_add_epi32(_mm256_madd_epi16(pairs[0], taps[0]), _mm256_madd_epi16(pairs[1], taps[1]))
}

/// Sixteen columns of four rows, as pairs of rows in the order in which `packs` restores columns.
#[target_feature(enable = "avx2")]
fn interleaved(rows: [__m256i; 4]) -> [[__m256i; 2]; 2] {
    [
        [_mm256_unpacklo_epi16(rows[0], rows[1]), _mm256_unpacklo_epi16(rows[2], rows[3])],
        [_mm256_unpackhi_epi16(rows[0], rows[1]), _mm256_unpackhi_epi16(rows[2], rows[3])],
    ]
}

#[target_feature(enable = "avx2")]
fn bytes(
    rows: [&[u8; 16]; 4],
    taps: [[__m256i; 2]; 2],
    rounding: [__m256i; 2],
    outputs: [&mut [i16; 16]; 2],
) {
    let [a, b, c, d] = rows;
    let pairs = interleaved([
        _mm256_cvtepu8_epi16(_mm_loadu_si128(a)),
        _mm256_cvtepu8_epi16(_mm_loadu_si128(b)),
        _mm256_cvtepu8_epi16(_mm_loadu_si128(c)),
        _mm256_cvtepu8_epi16(_mm_loadu_si128(d)),
    ]);
    for ((output, taps), rounding) in outputs.into_iter().zip(taps).zip(rounding) {
        let low = _mm256_srai_epi32::<8>(_mm256_add_epi32(dot(pairs[0], taps), rounding));
        let high = _mm256_srai_epi32::<8>(_mm256_add_epi32(dot(pairs[1], taps), rounding));
        _mm256_storeu_si256(output, _mm256_packs_epi32(low, high));
    }
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn vertical_bytes(rows: [&[u8]; 4], low: &mut [i16], high: &mut [i16]) {
    if rows[0].len() < 16 {
        return scalar::vertical_samples(8, rows, low, high);
    }
    let taps = filters();
    // Half of the range is taken out of the samples after the filters, with the rounding.
    let bias = LOW_PASS.iter().map(|&tap| i32::from(tap)).sum::<i32>() << 7;
    let rounding = [_mm256_set1_epi32((1 << 7) - bias), _mm256_set1_epi32(1 << 7)];
    for_each_vector!(16, rows, low, high, |inputs, outputs| bytes(inputs, taps, rounding, outputs));
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn vertical_words(depth: u32, rows: [&[u16]; 4], low: &mut [i16], high: &mut [i16]) {
    if rows[0].len() < 16 {
        return scalar::vertical_samples(depth, rows, low, high);
    }
    let taps = filters();
    let half = 1 << (depth - 1);
    let rounding = _mm256_set1_epi32(half);
    #[allow(clippy::cast_possible_truncation)] // The bits of 32768 are those of its negative.
    let bias = _mm256_set1_epi16(half as i16);
    let shift = _mm_cvtsi32_si128(depth.cast_signed());
    for_each_vector!(16, rows, low, high, |inputs, outputs| {
        let [a, b, c, d] = inputs;
        let pairs = interleaved([
            _mm256_sub_epi16(_mm256_loadu_si256(a), bias),
            _mm256_sub_epi16(_mm256_loadu_si256(b), bias),
            _mm256_sub_epi16(_mm256_loadu_si256(c), bias),
            _mm256_sub_epi16(_mm256_loadu_si256(d), bias),
        ]);
        for (output, taps) in outputs.into_iter().zip(taps) {
            let low = _mm256_sra_epi32(_mm256_add_epi32(dot(pairs[0], taps), rounding), shift);
            let high = _mm256_sra_epi32(_mm256_add_epi32(dot(pairs[1], taps), rounding), shift);
            _mm256_storeu_si256(output, _mm256_packs_epi32(low, high));
        }
    });
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn vertical_widening(rows: [&[i16]; 4], low: &mut [i32], high: &mut [i32]) {
    if rows[0].len() < 16 {
        return scalar::vertical_widening(rows, low, high);
    }
    let taps = filters();
    for_each_vector!(16, rows, low, high, |inputs, outputs| {
        let [a, b, c, d] = inputs;
        let pairs = interleaved([
            _mm256_loadu_si256(a),
            _mm256_loadu_si256(b),
            _mm256_loadu_si256(c),
            _mm256_loadu_si256(d),
        ]);
        for (output, taps) in outputs.into_iter().zip(taps) {
            let (low, high) = (dot(pairs[0], taps), dot(pairs[1], taps));
            let ordered =
                [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)];
            for (output, vector) in output.as_chunks_mut::<8>().0.iter_mut().zip(ordered) {
                _mm256_storeu_si256(output, vector);
            }
        }
    });
}

/// Combines the filter's sums of high and of low words.
#[derive(Clone, Copy)]
struct Combination {
    half: __m256i,
    shift: __m128i,
    /// Left shift of high words: what the right shift lacks of 16.
    high: __m128i,
    /// What the bias of low words amounts to in the result, a whole number. Before the shift the sum would not fit into 32 bits.
    bias: [__m256i; 2],
}

impl Combination {
    #[target_feature(enable = "avx2")]
    fn new(shift: u32) -> Self {
        let bias = |taps: [i16; 4]| taps.iter().map(|&tap| i32::from(tap)).sum::<i32>() << 15 >> shift;
        Self {
            half: _mm256_set1_epi32(1 << (shift - 1)),
            shift: _mm_cvtsi32_si128(shift.cast_signed()),
            high: _mm_cvtsi32_si128(16 - shift.cast_signed()),
            bias: [_mm256_set1_epi32(bias(LOW_PASS)), _mm256_set1_epi32(bias(HIGH_PASS))],
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn filter(
        &self,
        filter: usize,
        taps: [[__m256i; 2]; 2],
        high: [__m256i; 2],
        low: [__m256i; 2],
    ) -> __m256i {
        let low = _mm256_sra_epi32(_mm256_add_epi32(dot(low, taps[filter]), self.half), self.shift);
        let high = _mm256_sll_epi32(dot(high, taps[filter]), self.high);
        _mm256_add_epi32(_mm256_add_epi32(high, low), self.bias[filter])
    }
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn vertical_coarse(rows: [&[i32]; 4], low: &mut [i32], high: &mut [i32]) {
    if rows[0].len() < 8 {
        return scalar::vertical_coarse(rows, low, high);
    }
    let taps = filters();
    let combination = Combination::new(16);
    let bias = _mm256_set1_epi16(i16::MIN);
    for_each_vector!(8, rows, low, high, |inputs, outputs| {
        let [a, b, c, d] = inputs;
        let a = _mm256_loadu_si256(a);
        let b = _mm256_loadu_si256(b);
        let c = _mm256_loadu_si256(c);
        let d = _mm256_loadu_si256(d);
        let high_words = [
            _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(a), b),
            _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(c), d),
        ];
        let low_words = [
            _mm256_xor_si256(_mm256_blend_epi16::<0b1010_1010>(a, _mm256_slli_epi32::<16>(b)), bias),
            _mm256_xor_si256(_mm256_blend_epi16::<0b1010_1010>(c, _mm256_slli_epi32::<16>(d)), bias),
        ];
        for (filter, output) in outputs.into_iter().enumerate() {
            _mm256_storeu_si256(output, combination.filter(filter, taps, high_words, low_words));
        }
    });
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn horizontal_fine(length: usize, source: &[i16], low: &mut [i16], high: &mut [i16]) {
    let taps = filters();
    let half = _mm256_set1_epi32(1 << 15);
    let count = length.div_ceil(16);
    let first = vectors::<2, _>(source.as_chunks::<16>().0, count);
    let second = vectors::<2, _>(source[2..].as_chunks::<16>().0, count);
    let (low, high) = (vectors_mut::<16, _>(low, count), vectors_mut::<16, _>(high, count));
    for x in 0..count {
        let [a, b] = &first[x];
        let [c, d] = &second[x];
        let a = [_mm256_loadu_si256(a), _mm256_loadu_si256(c)];
        let b = [_mm256_loadu_si256(b), _mm256_loadu_si256(d)];
        for (output, taps) in [&mut low[x], &mut high[x]].into_iter().zip(taps) {
            let a = _mm256_srai_epi32::<16>(_mm256_add_epi32(dot(a, taps), half));
            let b = _mm256_srai_epi32::<16>(_mm256_add_epi32(dot(b, taps), half));
            let packed = _mm256_packs_epi32(a, b);
            _mm256_storeu_si256(output, _mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
        }
    }
}

/// The high and the biased low words of sixteen values. The lanes of both are in the order 0, 1, 4, 5, 2, 3, 6, 7.
#[target_feature(enable = "avx2")]
fn words(a: __m256i, b: __m256i, bias: __m256i) -> [__m256i; 2] {
    let zero = _mm256_setzero_si256();
    let high = _mm256_packs_epi32(_mm256_srai_epi32::<16>(a), _mm256_srai_epi32::<16>(b));
    let low = _mm256_packus_epi32(
        _mm256_blend_epi16::<0b1010_1010>(a, zero),
        _mm256_blend_epi16::<0b1010_1010>(b, zero),
    );
    [high, _mm256_xor_si256(low, bias)]
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn horizontal_coarse(
    shift: u32,
    length: usize,
    source: &[i32],
    low: &mut [i32],
    high: &mut [i32],
) {
    let taps = filters();
    let combination = Combination::new(shift);
    let bias = _mm256_set1_epi16(i16::MIN);
    let count = length.div_ceil(8);
    let first = vectors::<2, _>(source.as_chunks::<8>().0, count);
    let second = vectors::<2, _>(source[2..].as_chunks::<8>().0, count);
    let (low, high) = (vectors_mut::<8, _>(low, count), vectors_mut::<8, _>(high, count));
    for x in 0..count {
        let [a, b] = &first[x];
        let [c, d] = &second[x];
        let [high_first, low_first] = words(_mm256_loadu_si256(a), _mm256_loadu_si256(b), bias);
        let [high_second, low_second] = words(_mm256_loadu_si256(c), _mm256_loadu_si256(d), bias);
        for (filter, output) in [&mut low[x], &mut high[x]].into_iter().enumerate() {
            let result = combination.filter(filter, taps, [high_first, high_second], [low_first, low_second]);
            _mm256_storeu_si256(output, _mm256_permute4x64_epi64::<0b11_01_10_00>(result));
        }
    }
}
