//! The wavelet transform: pairs of samples times pairs of taps, with the words of the kernel for AVX2.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm256_loadu_si256, _mm512_loadu_si512, _mm512_storeu_si512};

use super::LANES;
use crate::adm::{HIGH_PASS, LOW_PASS, avx2};
use crate::vectors::{for_each_vector, vectors, vectors_mut};

/// Two taps of a filter in each 32-bit lane.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pair(taps: [i16; 4], first: usize) -> __m512i {
    let [low, high] = [taps[first], taps[first + 1]].map(|tap| u32::from(tap.cast_unsigned()));
    _mm512_set1_epi32((low | high << 16).cast_signed())
}

/// Both filters, as pairs of taps: low pass, then high pass.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn filters() -> [[__m512i; 2]; 2] {
    [[pair(LOW_PASS, 0), pair(LOW_PASS, 2)], [pair(HIGH_PASS, 0), pair(HIGH_PASS, 2)]]
}

/// Adds the filter's products to a sum.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn dot(sum: __m512i, pairs: [__m512i; 2], taps: [__m512i; 2]) -> __m512i {
    _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(sum, pairs[0], taps[0]), pairs[1], taps[1])
}

/// 32 columns of four rows, as pairs of rows in the order in which `packs` restores columns.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn interleaved(rows: [__m512i; 4]) -> [[__m512i; 2]; 2] {
    [
        [_mm512_unpacklo_epi16(rows[0], rows[1]), _mm512_unpacklo_epi16(rows[2], rows[3])],
        [_mm512_unpackhi_epi16(rows[0], rows[1]), _mm512_unpackhi_epi16(rows[2], rows[3])],
    ]
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn vertical_bytes(rows: [&[u8]; 4], low: &mut [i16], high: &mut [i16]) {
    if rows[0].len() < 2 * LANES {
        return avx2::vertical_bytes(rows, low, high);
    }
    let taps = filters();
    // Half of the range is taken out of the samples after the filters, with the rounding.
    let bias = LOW_PASS.iter().map(|&tap| i32::from(tap)).sum::<i32>() << 7;
    let rounding = [_mm512_set1_epi32((1 << 7) - bias), _mm512_set1_epi32(1 << 7)];
    for_each_vector!(32, rows, low, high, |inputs, outputs| {
        let [a, b, c, d] = inputs;
        let pairs = interleaved([
            _mm512_cvtepu8_epi16(_mm256_loadu_si256(a)),
            _mm512_cvtepu8_epi16(_mm256_loadu_si256(b)),
            _mm512_cvtepu8_epi16(_mm256_loadu_si256(c)),
            _mm512_cvtepu8_epi16(_mm256_loadu_si256(d)),
        ]);
        for ((output, taps), rounding) in outputs.into_iter().zip(taps).zip(rounding) {
            let low = _mm512_srai_epi32::<8>(dot(rounding, pairs[0], taps));
            let high = _mm512_srai_epi32::<8>(dot(rounding, pairs[1], taps));
            _mm512_storeu_si512(output, _mm512_packs_epi32(low, high));
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn vertical_words(depth: u32, rows: [&[u16]; 4], low: &mut [i16], high: &mut [i16]) {
    if rows[0].len() < 2 * LANES {
        return avx2::vertical_words(depth, rows, low, high);
    }
    let taps = filters();
    let half = 1 << (depth - 1);
    let rounding = _mm512_set1_epi32(half);
    #[allow(clippy::cast_possible_truncation)] // The bits of 32768 are those of its negative.
    let bias = _mm512_set1_epi16(half as i16);
    let shift = _mm512_set1_epi32(depth.cast_signed());
    for_each_vector!(32, rows, low, high, |inputs, outputs| {
        let [a, b, c, d] = inputs;
        let pairs = interleaved([
            _mm512_sub_epi16(_mm512_loadu_si512(a), bias),
            _mm512_sub_epi16(_mm512_loadu_si512(b), bias),
            _mm512_sub_epi16(_mm512_loadu_si512(c), bias),
            _mm512_sub_epi16(_mm512_loadu_si512(d), bias),
        ]);
        for (output, taps) in outputs.into_iter().zip(taps) {
            let low = _mm512_srav_epi32(dot(rounding, pairs[0], taps), shift);
            let high = _mm512_srav_epi32(dot(rounding, pairs[1], taps), shift);
            _mm512_storeu_si512(output, _mm512_packs_epi32(low, high));
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn vertical_widening(rows: [&[i16]; 4], low: &mut [i32], high: &mut [i32]) {
    if rows[0].len() < 2 * LANES {
        return avx2::vertical_widening(rows, low, high);
    }
    let taps = filters();
    let zero = _mm512_setzero_si512();
    let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for_each_vector!(32, rows, low, high, |inputs, outputs| {
        let [a, b, c, d] = inputs;
        let pairs = interleaved([
            _mm512_loadu_si512(a),
            _mm512_loadu_si512(b),
            _mm512_loadu_si512(c),
            _mm512_loadu_si512(d),
        ]);
        for (output, taps) in outputs.into_iter().zip(taps) {
            let (low, high) = (dot(zero, pairs[0], taps), dot(zero, pairs[1], taps));
            let ordered =
                [_mm512_permutex2var_epi64(low, first, high), _mm512_permutex2var_epi64(low, second, high)];
            for (output, vector) in output.as_chunks_mut::<LANES>().0.iter_mut().zip(ordered) {
                _mm512_storeu_si512(output, vector);
            }
        }
    });
}

/// Combines the filter's sums of high and of low words.
#[derive(Clone, Copy)]
struct Combination {
    half: __m512i,
    shift: __m512i,
    /// Left shift of high words: what the right shift lacks of 16.
    high: __m512i,
    /// What the bias of low words amounts to in the result, a whole number. Before the shift the sum would not fit into 32 bits.
    bias: [__m512i; 2],
}

impl Combination {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn new(shift: u32) -> Self {
        let bias = |taps: [i16; 4]| taps.iter().map(|&tap| i32::from(tap)).sum::<i32>() << 15 >> shift;
        Self {
            half: _mm512_set1_epi32(1 << (shift - 1)),
            shift: _mm512_set1_epi32(shift.cast_signed()),
            high: _mm512_set1_epi32(16 - shift.cast_signed()),
            bias: [_mm512_set1_epi32(bias(LOW_PASS)), _mm512_set1_epi32(bias(HIGH_PASS))],
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline]
    fn filter(
        &self,
        filter: usize,
        taps: [[__m512i; 2]; 2],
        high: [__m512i; 2],
        low: [__m512i; 2],
    ) -> __m512i {
        let low = _mm512_srav_epi32(dot(self.half, low, taps[filter]), self.shift);
        let high = _mm512_sllv_epi32(dot(_mm512_setzero_si512(), high, taps[filter]), self.high);
        _mm512_add_epi32(_mm512_add_epi32(high, low), self.bias[filter])
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn vertical_coarse(rows: [&[i32]; 4], low: &mut [i32], high: &mut [i32]) {
    const ODD: __mmask32 = 0xAAAA_AAAA;
    if rows[0].len() < LANES {
        return avx2::vertical_coarse(rows, low, high);
    }
    let taps = filters();
    let combination = Combination::new(16);
    let bias = _mm512_set1_epi16(i16::MIN);
    for_each_vector!(16, rows, low, high, |inputs, outputs| {
        let [a, b, c, d] = inputs;
        let a = _mm512_loadu_si512(a);
        let b = _mm512_loadu_si512(b);
        let c = _mm512_loadu_si512(c);
        let d = _mm512_loadu_si512(d);
        let high_words = [
            _mm512_mask_blend_epi16(ODD, _mm512_srli_epi32::<16>(a), b),
            _mm512_mask_blend_epi16(ODD, _mm512_srli_epi32::<16>(c), d),
        ];
        let low_words = [
            _mm512_xor_si512(_mm512_mask_blend_epi16(ODD, a, _mm512_slli_epi32::<16>(b)), bias),
            _mm512_xor_si512(_mm512_mask_blend_epi16(ODD, c, _mm512_slli_epi32::<16>(d)), bias),
        ];
        for (filter, output) in outputs.into_iter().enumerate() {
            _mm512_storeu_si512(output, combination.filter(filter, taps, high_words, low_words));
        }
    });
}

/// The words at odd positions of two vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn odd_words(a: __m512i, b: __m512i) -> __m512i {
    let low = _mm512_setr_epi32(
        0x3_0001, 0x7_0005, 0xB_0009, 0xF_000D, 0x13_0011, 0x17_0015, 0x1B_0019, 0x1F_001D, 0x23_0021,
        0x27_0025, 0x2B_0029, 0x2F_002D, 0x33_0031, 0x37_0035, 0x3B_0039, 0x3F_003D,
    );
    _mm512_permutex2var_epi16(a, low, b)
}

/// The words at even positions of two vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn even_words(a: __m512i, b: __m512i) -> __m512i {
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(a)), _mm512_cvtepi32_epi16(b))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn horizontal_fine(length: usize, source: &[i16], low: &mut [i16], high: &mut [i16]) {
    let taps = filters();
    let half = _mm512_set1_epi32(1 << 15);
    let count = length.div_ceil(2 * LANES);
    let first = vectors::<2, _>(source.as_chunks::<32>().0, count);
    let second = vectors::<2, _>(source[2..].as_chunks::<32>().0, count);
    let (low, high) = (vectors_mut::<32, _>(low, count), vectors_mut::<32, _>(high, count));
    for x in 0..count {
        let [a, b] = &first[x];
        let [c, d] = &second[x];
        let a = [_mm512_loadu_si512(a), _mm512_loadu_si512(c)];
        let b = [_mm512_loadu_si512(b), _mm512_loadu_si512(d)];
        for (output, taps) in [&mut low[x], &mut high[x]].into_iter().zip(taps) {
            _mm512_storeu_si512(output, odd_words(dot(half, a, taps), dot(half, b, taps)));
        }
    }
}

/// The high and the biased low words of 32 values.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn words([a, b]: &[[i32; LANES]; 2], bias: __m512i) -> [__m512i; 2] {
    let (a, b) = (_mm512_loadu_si512(a), _mm512_loadu_si512(b));
    [odd_words(a, b), _mm512_xor_si512(even_words(a, b), bias)]
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn horizontal_coarse(
    shift: u32,
    length: usize,
    source: &[i32],
    low: &mut [i32],
    high: &mut [i32],
) {
    let taps = filters();
    let combination = Combination::new(shift);
    let bias = _mm512_set1_epi16(i16::MIN);
    let count = length.div_ceil(LANES);
    let source = vectors::<2, _>(source.as_chunks::<LANES>().0, count + 1);
    let (low, high) = (vectors_mut::<LANES, _>(low, count), vectors_mut::<LANES, _>(high, count));
    let mut next = words(&source[0], bias);
    for x in 0..count {
        let current = next;
        next = words(&source[x + 1], bias);
        let high_words = [current[0], _mm512_alignr_epi32::<1>(next[0], current[0])];
        let low_words = [current[1], _mm512_alignr_epi32::<1>(next[1], current[1])];
        for (filter, output) in [&mut low[x], &mut high[x]].into_iter().enumerate() {
            _mm512_storeu_si512(output, combination.filter(filter, taps, high_words, low_words));
        }
    }
}
