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

use super::Variances;
use crate::vif::VifSums;
use crate::vif::log_table::LogTable;
use crate::vif::statistic::{EPSILON, GainLimit, NOISE};
use crate::vif::strip::LogSums;

/// Sums of a strip, with lanes that are not added up yet.
pub(super) struct LogAccumulator {
    limit: __m256d,
    sums: LogSums,
    lanes: Lanes,
}

#[derive(Clone, Copy)]
struct Lanes {
    /// Of 64 bits.
    non_log: __m256i,
    /// Of 32 bits. The number of samples that take a logarithm is subtracted.
    log_samples: __m256i,
    num_exponents: __m256i,
    den_exponents: __m256i,
}

impl LogAccumulator {
    #[target_feature(enable = "avx2")]
    pub(super) fn new(limit: GainLimit) -> Self {
        let zero = _mm256_setzero_si256();
        let lanes = Lanes { non_log: zero, log_samples: zero, num_exponents: zero, den_exponents: zero };
        Self { limit: _mm256_set1_pd(limit.0), sums: LogSums::default(), lanes }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add(&mut self, row: &[[Variances; 2]], table: &LogTable) {
        let zero = _mm256_setzero_si256();
        let Self { limit, mut sums, mut lanes } = *self;
        for &[reference, distorted, covariance] in row.as_flattened() {
            let is_log = _mm256_cmpgt_epi32(reference, _mm256_set1_epi32(NOISE - 1));
            let non_log = _mm256_andnot_si256(is_log, distorted);
            lanes.non_log = _mm256_add_epi64(
                lanes.non_log,
                _mm256_and_si256(non_log, _mm256_set1_epi64x(u32::MAX.into())),
            );
            lanes.non_log = _mm256_add_epi64(lanes.non_log, _mm256_srli_epi64::<32>(non_log));
            lanes.log_samples = _mm256_add_epi32(lanes.log_samples, is_log);
            if _mm256_testz_si256(is_log, is_log) != 0 {
                continue;
            }
            // Lanes without logarithm get the logarithms of a reference without variance, which add up to zero.
            let reference = _mm256_and_si256(reference, is_log);
            let positive =
                _mm256_and_si256(_mm256_cmpgt_epi32(covariance, zero), _mm256_cmpgt_epi32(distorted, zero));
            let covariance = _mm256_and_si256(covariance, _mm256_and_si256(is_log, positive));
            let low = Arguments::new(low_half(reference), low_half(distorted), low_half(covariance), limit);
            let high =
                Arguments::new(high_half(reference), high_half(distorted), high_half(covariance), limit);
            let all = merge(low.all, high.all);
            let noise = merge(low.noise, high.noise);
            let reference = merge(low.reference, high.reference);
            let exponents = _mm256_sub_epi32(exponent(all), exponent(noise));
            lanes.num_exponents = _mm256_add_epi32(lanes.num_exponents, exponents);
            lanes.den_exponents = _mm256_add_epi32(lanes.den_exponents, exponent(reference));
            sums.num_entries += entries(all, table) - entries(noise, table);
            sums.den_entries += entries(reference, table);
            sums.logs += 8;
        }
        *self = Self { limit, sums, lanes };
    }

    /// The sums of a strip of `samples` samples.
    #[target_feature(enable = "avx2")]
    pub(super) fn sums(mut self, samples: usize) -> VifSums {
        let mut halves = [0_i64; 4];
        _mm256_storeu_si256(&mut halves, self.lanes.non_log);
        self.sums.num_non_log = halves.iter().sum();
        self.sums.log_samples = -total(self.lanes.log_samples);
        self.sums.num_exponents = total(self.lanes.num_exponents);
        self.sums.den_exponents = total(self.lanes.den_exponents);
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

#[target_feature(enable = "avx2")]
#[inline]
fn exponent(upper: __m256i) -> __m256i {
    _mm256_srli_epi32::<20>(upper)
}

/// The sum of the table's entries of 8 numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn entries(upper: __m256i, table: &LogTable) -> i64 {
    // The low words get the highest 15 bits of the mantissa after its leading one.
    let mantissas = _mm256_or_si256(_mm256_srli_epi32::<5>(upper), _mm256_set1_epi32(1 << 15));
    let mut words = [0_u16; 16];
    _mm256_storeu_si256(&mut words, mantissas);
    words.as_chunks::<2>().0.iter().map(|[mantissa, _]| i64::from(table.entry(*mantissa))).sum()
}

/// The sum of lanes of 32 bits.
#[target_feature(enable = "avx2")]
fn total(lanes: __m256i) -> i64 {
    let mut numbers = [0_i32; 8];
    _mm256_storeu_si256(&mut numbers, lanes);
    numbers.iter().map(|number| i64::from(*number)).sum()
}
