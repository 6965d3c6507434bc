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

use super::{BLOCKS, DistortedMoments, ReferenceMoments};
use crate::vif::VifSums;
use crate::vif::log_table::LogTable;
use crate::vif::statistic::{EPSILON, GainLimit, NOISE};
use crate::vif::strip::ReferenceSums;

/// Mantissas of 8 samples, in the lower words.
type Mantissas = [u32; 8];

/// Vectors of a row of a strip.
const VECTORS: usize = 2 * (BLOCKS - 1);

/// Sums of a reference.
pub(super) struct ReferenceAccumulator(ReferenceSums);

impl ReferenceAccumulator {
    pub(super) fn new() -> Self {
        Self(ReferenceSums::default())
    }

    /// Adds a row of a strip. Mantissas are looked up after all of them are known.
    #[target_feature(enable = "avx2")]
    pub(super) fn add(&mut self, row: &[[ReferenceMoments; 2]], table: &LogTable) {
        let zero = _mm256_setzero_si256();
        let (mut log_samples, mut den) = (zero, zero);
        let mut mantissas = [[0; 8]; VECTORS];
        let mut filled = 0;
        let visible = _mm256_set1_pd(NOISE.into());
        for &[_, variance] in row.as_flattened() {
            let is_log = _mm256_cmpgt_epi32(variance, _mm256_set1_epi32(NOISE - 1));
            log_samples = _mm256_sub_epi32(log_samples, is_log);
            if _mm256_testz_si256(is_log, is_log) != 0 {
                continue;
            }
            // Lanes without logarithm get that of a reference without variance, which the sums take out.
            let variance = _mm256_and_si256(variance, is_log);
            let [low, high] = [low_half(variance), high_half(variance)]
                .map(|half| _mm256_add_pd(_mm256_cvtepi32_pd(half), visible));
            let reference = merge(low, high);
            den = _mm256_add_epi32(den, linear(reference));
            if let Some(mantissas) = mantissas.get_mut(filled) {
                _mm256_storeu_si256(mantissas, mantissa(reference));
            }
            filled += 1;
        }
        self.0.log_samples += total(log_samples);
        self.0.logs += 8 * i64::try_from(filled).unwrap_or(0);
        let corrections: i32 =
            mantissas.iter().take(filled).map(|mantissas| corrections(mantissas, table)).sum();
        self.0.den += total(den) + i64::from(corrections);
    }
}

/// Sums of a distorted picture.
#[derive(Debug)]
pub(super) struct DistortedAccumulator {
    num: i64,
    /// Of 64 bits.
    non_log: __m256i,
}

impl DistortedAccumulator {
    #[target_feature(enable = "avx2")]
    pub(super) fn new() -> Self {
        Self { num: 0, non_log: _mm256_setzero_si256() }
    }

    /// Adds a row of a strip. Mantissas are looked up after all of them are known: the processor then does not wait for the
    /// divisions.
    #[target_feature(enable = "avx2")]
    pub(super) fn add(
        &mut self,
        reference: &[[ReferenceMoments; 2]],
        distorted: &[[DistortedMoments; 2]],
        limit: GainLimit,
        table: &LogTable,
    ) {
        let zero = _mm256_setzero_si256();
        let limit = _mm256_set1_pd(limit.0);
        let (mut non_log_sum, mut num) = (self.non_log, zero);
        // Of signal and noise, and of noise, for each vector that takes logarithms.
        let mut mantissas: [[Mantissas; 2]; VECTORS] = [[[0; 8]; 2]; VECTORS];
        let mut filled = 0;
        let moments = reference.as_flattened().iter().zip(distorted.as_flattened());
        for (&[_, reference], &[distorted, covariance]) in moments {
            let is_log = _mm256_cmpgt_epi32(reference, _mm256_set1_epi32(NOISE - 1));
            let non_log = _mm256_andnot_si256(is_log, distorted);
            let even = _mm256_and_si256(non_log, _mm256_set1_epi64x(u32::MAX.into()));
            non_log_sum =
                _mm256_add_epi64(non_log_sum, _mm256_add_epi64(even, _mm256_srli_epi64::<32>(non_log)));
            if _mm256_testz_si256(is_log, is_log) != 0 {
                continue;
            }
            // Lanes without logarithm get those of a reference without variance, which add up to zero.
            let reference = _mm256_and_si256(reference, is_log);
            let positive =
                _mm256_and_si256(_mm256_cmpgt_epi32(covariance, zero), _mm256_cmpgt_epi32(distorted, zero));
            let covariance = _mm256_and_si256(covariance, _mm256_and_si256(is_log, positive));
            let low = Arguments::new(low_half(reference), low_half(distorted), low_half(covariance), limit);
            let high =
                Arguments::new(high_half(reference), high_half(distorted), high_half(covariance), limit);
            let all = merge(low.all, high.all);
            let noise = merge(low.noise, high.noise);
            num = _mm256_add_epi32(num, _mm256_sub_epi32(linear(all), linear(noise)));
            if let Some([all_mantissas, noise_mantissas]) = mantissas.get_mut(filled) {
                _mm256_storeu_si256(all_mantissas, mantissa(all));
                _mm256_storeu_si256(noise_mantissas, mantissa(noise));
            }
            filled += 1;
        }
        self.non_log = non_log_sum;
        let correction = |[all, noise]: &[Mantissas; 2]| corrections(all, table) - corrections(noise, table);
        let corrections: i32 = mantissas.iter().take(filled).map(correction).sum();
        self.num += total(num) + i64::from(corrections);
    }

    /// The sums of `samples` samples.
    #[target_feature(enable = "avx2")]
    pub(super) fn sums(&self, samples: usize, reference: &ReferenceAccumulator) -> VifSums {
        let mut quarters = [0_i64; 4];
        _mm256_storeu_si256(&mut quarters, self.non_log);
        reference.0.with(samples, self.num, quarters.iter().sum())
    }
}

/// What logarithms are taken of: signal with noise, and noise. They are integers.
struct Arguments {
    all: __m256d,
    noise: __m256d,
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
        Self { all: _mm256_add_pd(signal, noise), noise }
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
