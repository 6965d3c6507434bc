//! From variances to sums.

use std::arch::x86_64::{
    __m128i, __m256d, __m256i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_ZERO, _mm256_add_epi32, _mm256_add_epi64,
    _mm256_add_pd, _mm256_and_si256, _mm256_andnot_si256, _mm256_castpd_ps, _mm256_castps_si256,
    _mm256_castsi256_si128, _mm256_cmpgt_epi32, _mm256_cvtepi32_pd, _mm256_div_pd, _mm256_extracti128_si256,
    _mm256_max_pd, _mm256_min_pd, _mm256_mul_pd, _mm256_or_si256, _mm256_round_pd, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_set1_pd, _mm256_setzero_pd, _mm256_setzero_si256, _mm256_shuffle_ps,
    _mm256_srli_epi32, _mm256_srli_epi64, _mm256_sub_epi32, _mm256_sub_pd, _mm256_testz_si256,
};

use safe_unaligned_simd::x86_64::_mm256_storeu_si256;

use super::{BLOCKS, Variances};
use crate::vif::VifSums;
use crate::vif::log_table::LogTable;
use crate::vif::statistic::{EPSILON, GainLimit, NOISE};
use crate::vif::strip::LogSums;

/// Sums of a strip.
pub(super) struct LogAccumulator {
    limit: __m256d,
    sums: LogSums,
    /// Of 64 bits.
    non_log: __m256i,
    /// Of signal and noise, noise, and the reference, for each vector of a row that takes logarithms.
    mantissas: [[Mantissas; 3]; 2 * (BLOCKS - 1)],
}

/// Mantissas of 8 samples, in the lower words.
type Mantissas = [u32; 8];

impl LogAccumulator {
    #[target_feature(enable = "avx2")]
    pub(super) fn new(limit: GainLimit) -> Self {
        Self {
            limit: _mm256_set1_pd(limit.0),
            sums: LogSums::default(),
            non_log: _mm256_setzero_si256(),
            mantissas: [[[0; 8]; 3]; 2 * (BLOCKS - 1)],
        }
    }

    /// Adds a row of a strip. Mantissas are looked up after all of them are known: the processor then does not wait for the
    /// divisions.
    #[target_feature(enable = "avx2")]
    pub(super) fn add(&mut self, row: &[[Variances; 2]], table: &LogTable) {
        let zero = _mm256_setzero_si256();
        let (mut non_log_sum, mut log_samples, mut num, mut den) = (self.non_log, zero, zero, zero);
        let mut filled = 0;
        for &[reference, distorted, covariance] in row.as_flattened() {
            let is_log = _mm256_cmpgt_epi32(reference, _mm256_set1_epi32(NOISE - 1));
            let non_log = _mm256_andnot_si256(is_log, distorted);
            let even = _mm256_and_si256(non_log, _mm256_set1_epi64x(u32::MAX.into()));
            non_log_sum =
                _mm256_add_epi64(non_log_sum, _mm256_add_epi64(even, _mm256_srli_epi64::<32>(non_log)));
            log_samples = _mm256_sub_epi32(log_samples, is_log);
            if _mm256_testz_si256(is_log, is_log) != 0 {
                continue;
            }
            // Lanes without logarithm get the logarithms of a reference without variance, which add up to zero.
            let reference = _mm256_and_si256(reference, is_log);
            let positive =
                _mm256_and_si256(_mm256_cmpgt_epi32(covariance, zero), _mm256_cmpgt_epi32(distorted, zero));
            let covariance = _mm256_and_si256(covariance, _mm256_and_si256(is_log, positive));
            let low =
                Arguments::new(low_half(reference), low_half(distorted), low_half(covariance), self.limit);
            let high =
                Arguments::new(high_half(reference), high_half(distorted), high_half(covariance), self.limit);
            let all = merge(low.all, high.all);
            let noise = merge(low.noise, high.noise);
            let reference = merge(low.reference, high.reference);
            num = _mm256_add_epi32(num, _mm256_sub_epi32(linear(all), linear(noise)));
            den = _mm256_add_epi32(den, linear(reference));
            if let Some([all_mantissas, noise_mantissas, reference_mantissas]) =
                self.mantissas.get_mut(filled)
            {
                _mm256_storeu_si256(all_mantissas, mantissa(all));
                _mm256_storeu_si256(noise_mantissas, mantissa(noise));
                _mm256_storeu_si256(reference_mantissas, mantissa(reference));
            }
            filled += 1;
        }
        self.non_log = non_log_sum;
        self.sums.log_samples += total(log_samples);
        self.sums.num += total(num);
        self.sums.den += total(den);
        self.sums.logs += 8 * i64::try_from(filled).unwrap_or(0);
        let (mut num, mut den) = (0, 0);
        for [all, noise, reference] in self.mantissas.iter().take(filled) {
            num += corrections(all, table) - corrections(noise, table);
            den += corrections(reference, table);
        }
        self.sums.num += i64::from(num);
        self.sums.den += i64::from(den);
    }

    /// The sums of a strip of `samples` samples.
    #[target_feature(enable = "avx2")]
    pub(super) fn sums(mut self, samples: usize) -> VifSums {
        let mut quarters = [0_i64; 4];
        _mm256_storeu_si256(&mut quarters, self.non_log);
        self.sums.num_non_log = quarters.iter().sum();
        self.sums.sums(samples)
    }
}

/// What logarithms are taken of: signal with noise, noise, and the reference with noise. They are integers.
struct Arguments {
    all: __m256d,
    noise: __m256d,
    reference: __m256d,
}

impl Arguments {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new(reference: __m128i, distorted: __m128i, covariance: __m128i, limit: __m256d) -> Self {
        const TRUNCATE: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
        let visible = _mm256_set1_pd(NOISE.into());
        let [reference, distorted, covariance] =
            [reference, distorted, covariance].map(|lanes| _mm256_cvtepi32_pd(lanes));
        let gain = _mm256_div_pd(covariance, _mm256_add_pd(reference, _mm256_set1_pd(EPSILON)));
        let added = _mm256_sub_pd(distorted, _mm256_mul_pd(gain, covariance));
        let added = _mm256_round_pd::<TRUNCATE>(_mm256_max_pd(added, _mm256_setzero_pd()));
        let noise = _mm256_add_pd(added, visible);
        let gain = _mm256_min_pd(gain, limit);
        let signal = _mm256_round_pd::<TRUNCATE>(_mm256_mul_pd(_mm256_mul_pd(gain, gain), reference));
        Self { all: _mm256_add_pd(signal, noise), noise, reference: _mm256_add_pd(reference, visible) }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn low_half(lanes: __m256i) -> __m128i {
    _mm256_castsi256_si128(lanes)
}

#[target_feature(enable = "avx2")]
#[inline]
fn high_half(lanes: __m256i) -> __m128i {
    _mm256_extracti128_si256::<1>(lanes)
}

/// Upper halves of numbers, which have the exponent and 20 bits of the mantissa.
#[target_feature(enable = "avx2")]
#[inline]
fn merge(low: __m256d, high: __m256d) -> __m256i {
    _mm256_castps_si256(_mm256_shuffle_ps::<0b1101_1101>(_mm256_castpd_ps(low), _mm256_castpd_ps(high)))
}

/// A logarithm without its correction: the exponent and 11 bits of the mantissa.
#[target_feature(enable = "avx2")]
#[inline]
fn linear(upper: __m256i) -> __m256i {
    _mm256_srli_epi32::<9>(upper)
}

/// 15 bits of the mantissa after its leading one in the lower words.
#[target_feature(enable = "avx2")]
#[inline]
fn mantissa(upper: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_srli_epi32::<5>(upper), _mm256_set1_epi32(1 << 15))
}

#[inline]
fn corrections(mantissas: &Mantissas, table: &LogTable) -> i32 {
    #[allow(clippy::cast_possible_truncation, reason = "only lower words count")]
    let correction = |mantissa: &u32| i32::from(table.correction(*mantissa as u16));
    mantissas.iter().map(correction).sum()
}

/// The sum of lanes of 32 bits.
#[target_feature(enable = "avx2")]
fn total(lanes: __m256i) -> i64 {
    let mut numbers = [0_i32; 8];
    _mm256_storeu_si256(&mut numbers, lanes);
    numbers.iter().map(|number| i64::from(*number)).sum()
}
