//! From variances to sums.

use std::arch::x86_64::{
    __m256i, __m512d, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_ZERO, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_add_pd, _mm512_and_si512, _mm512_castpd_ps, _mm512_castps_si512, _mm512_castsi512_si256,
    _mm512_cmpge_epi32_mask, _mm512_cvtepi32_pd, _mm512_div_pd, _mm512_extracti64x4_epi64,
    _mm512_mask_cmpgt_epi32_mask, _mm512_maskz_mov_epi32, _mm512_max_pd, _mm512_min_pd, _mm512_mul_pd,
    _mm512_or_si512, _mm512_roundscale_pd, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set1_pd,
    _mm512_setzero_pd, _mm512_setzero_si512, _mm512_shuffle_ps, _mm512_srli_epi32, _mm512_srli_epi64,
    _mm512_sub_epi32, _mm512_sub_pd,
};

use safe_unaligned_simd::x86_64::_mm512_storeu_si512;

use super::{BLOCKS, Variances};
use crate::vif::VifSums;
use crate::vif::log_table::LogTable;
use crate::vif::statistic::{EPSILON, GainLimit, NOISE};
use crate::vif::strip::LogSums;

/// Sums of a strip.
pub(super) struct LogAccumulator {
    limit: __m512d,
    sums: LogSums,
    /// Of 64 bits.
    non_log: __m512i,
    /// Of signal and noise, noise, and the reference, for each vector of a row that takes logarithms.
    mantissas: [[Mantissas; 3]; 2 * BLOCKS],
}

/// Mantissas of 16 samples, in the lower words.
type Mantissas = [u32; 16];

impl LogAccumulator {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn new(limit: GainLimit) -> Self {
        Self {
            limit: _mm512_set1_pd(limit.0),
            sums: LogSums::default(),
            non_log: _mm512_setzero_si512(),
            mantissas: [[[0; 16]; 3]; 2 * BLOCKS],
        }
    }

    /// Adds a row of a strip. Mantissas are looked up after all of them are known: the processor then does not wait for the
    /// divisions.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn add(&mut self, row: &[[Variances; 2]], table: &LogTable) {
        let zero = _mm512_setzero_si512();
        let (mut non_log_sum, mut log_samples, mut num, mut den) = (self.non_log, 0, zero, zero);
        let mut filled = 0;
        for &[reference, distorted, covariance] in row.as_flattened() {
            let is_log = _mm512_cmpge_epi32_mask(reference, _mm512_set1_epi32(NOISE));
            let non_log = _mm512_maskz_mov_epi32(!is_log, distorted);
            let even = _mm512_and_si512(non_log, _mm512_set1_epi64(u32::MAX.into()));
            non_log_sum =
                _mm512_add_epi64(non_log_sum, _mm512_add_epi64(even, _mm512_srli_epi64::<32>(non_log)));
            log_samples += is_log.count_ones();
            if is_log == 0 {
                continue;
            }
            // Lanes without logarithm get the logarithms of a reference without variance, which add up to zero.
            let reference = _mm512_maskz_mov_epi32(is_log, reference);
            let positive = _mm512_mask_cmpgt_epi32_mask(is_log, covariance, zero);
            let positive = _mm512_mask_cmpgt_epi32_mask(positive, distorted, zero);
            let covariance = _mm512_maskz_mov_epi32(positive, covariance);
            let low =
                Arguments::new(low_half(reference), low_half(distorted), low_half(covariance), self.limit);
            let high =
                Arguments::new(high_half(reference), high_half(distorted), high_half(covariance), self.limit);
            let all = merge(low.all, high.all);
            let noise = merge(low.noise, high.noise);
            let reference = merge(low.reference, high.reference);
            num = _mm512_add_epi32(num, _mm512_sub_epi32(linear(all), linear(noise)));
            den = _mm512_add_epi32(den, linear(reference));
            if let Some([all_mantissas, noise_mantissas, reference_mantissas]) =
                self.mantissas.get_mut(filled)
            {
                _mm512_storeu_si512(all_mantissas, mantissa(all));
                _mm512_storeu_si512(noise_mantissas, mantissa(noise));
                _mm512_storeu_si512(reference_mantissas, mantissa(reference));
            }
            filled += 1;
        }
        self.non_log = non_log_sum;
        self.sums.log_samples += i64::from(log_samples);
        self.sums.num += total(num);
        self.sums.den += total(den);
        self.sums.logs += 16 * i64::try_from(filled).unwrap_or(0);
        let (mut num, mut den) = (0, 0);
        for [all, noise, reference] in self.mantissas.iter().take(filled) {
            num += corrections(all, table) - corrections(noise, table);
            den += corrections(reference, table);
        }
        self.sums.num += i64::from(num);
        self.sums.den += i64::from(den);
    }

    /// The sums of a strip of `samples` samples.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn sums(mut self, samples: usize) -> VifSums {
        let mut parts = [0_i64; 8];
        _mm512_storeu_si512(&mut parts, self.non_log);
        self.sums.num_non_log = parts.iter().sum();
        self.sums.sums(samples)
    }
}

/// What logarithms are taken of: signal with noise, noise, and the reference with noise. They are integers.
struct Arguments {
    all: __m512d,
    noise: __m512d,
    reference: __m512d,
}

impl Arguments {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline]
    fn new(reference: __m256i, distorted: __m256i, covariance: __m256i, limit: __m512d) -> Self {
        const TRUNCATE: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
        let visible = _mm512_set1_pd(NOISE.into());
        let [reference, distorted, covariance] =
            [reference, distorted, covariance].map(|lanes| _mm512_cvtepi32_pd(lanes));
        let gain = _mm512_div_pd(covariance, _mm512_add_pd(reference, _mm512_set1_pd(EPSILON)));
        let added = _mm512_sub_pd(distorted, _mm512_mul_pd(gain, covariance));
        let added = _mm512_roundscale_pd::<TRUNCATE>(_mm512_max_pd(added, _mm512_setzero_pd()));
        let noise = _mm512_add_pd(added, visible);
        let gain = _mm512_min_pd(gain, limit);
        let signal = _mm512_roundscale_pd::<TRUNCATE>(_mm512_mul_pd(_mm512_mul_pd(gain, gain), reference));
        Self { all: _mm512_add_pd(signal, noise), noise, reference: _mm512_add_pd(reference, visible) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn low_half(lanes: __m512i) -> __m256i {
    _mm512_castsi512_si256(lanes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn high_half(lanes: __m512i) -> __m256i {
    _mm512_extracti64x4_epi64::<1>(lanes)
}

/// Upper halves of numbers, which have the exponent and 20 bits of the mantissa.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn merge(low: __m512d, high: __m512d) -> __m512i {
    _mm512_castps_si512(_mm512_shuffle_ps::<0b1101_1101>(_mm512_castpd_ps(low), _mm512_castpd_ps(high)))
}

/// A logarithm without its correction: the exponent and 11 bits of the mantissa.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn linear(upper: __m512i) -> __m512i {
    _mm512_srli_epi32::<9>(upper)
}

/// 15 bits of the mantissa after its leading one in the lower words.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn mantissa(upper: __m512i) -> __m512i {
    _mm512_or_si512(_mm512_srli_epi32::<5>(upper), _mm512_set1_epi32(1 << 15))
}

#[inline]
fn corrections(mantissas: &Mantissas, table: &LogTable) -> i32 {
    #[allow(clippy::cast_possible_truncation, reason = "only lower words count")]
    let correction = |mantissa: &u32| i32::from(table.correction(*mantissa as u16));
    mantissas.iter().map(correction).sum()
}

/// The sum of lanes of 32 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn total(lanes: __m512i) -> i64 {
    let mut numbers = [0_i32; 16];
    _mm512_storeu_si512(&mut numbers, lanes);
    numbers.iter().map(|number| i64::from(*number)).sum()
}
