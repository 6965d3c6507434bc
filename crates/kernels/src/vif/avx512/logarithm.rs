//! From variances to sums.

use std::arch::x86_64::{
    __m256i, __m512, __m512d, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_ZERO, _mm512_add_epi32,
    _mm512_add_epi64, _mm512_add_pd, _mm512_and_si512, _mm512_castpd_ps, _mm512_castps_si512,
    _mm512_castsi512_si256, _mm512_cmpge_epi32_mask, _mm512_cvtepi32_pd, _mm512_cvtepi32_ps,
    _mm512_cvttps_epi32, _mm512_div_pd, _mm512_extracti64x4_epi64, _mm512_fmadd_ps,
    _mm512_mask_cmpgt_epi32_mask, _mm512_maskz_mov_epi32, _mm512_max_pd, _mm512_min_pd, _mm512_mul_pd,
    _mm512_permutex2var_ps, _mm512_roundscale_pd, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set1_pd,
    _mm512_setzero_pd, _mm512_setzero_si512, _mm512_shuffle_ps, _mm512_slli_epi32, _mm512_srli_epi32,
    _mm512_srli_epi64, _mm512_sub_epi32, _mm512_sub_pd,
};

use safe_unaligned_simd::x86_64::{_mm512_loadu_ps, _mm512_storeu_si512};

use super::{DistortedMoments, ReferenceMoments};
use crate::vif::VifSums;
use crate::vif::log_table::LogPolynomials;
use crate::vif::statistic::{EPSILON, GainLimit, NOISE};
use crate::vif::strip::ReferenceSums;

/// Sums of a reference.
pub(super) struct ReferenceAccumulator(ReferenceSums);

impl ReferenceAccumulator {
    pub(super) fn new() -> Self {
        Self(ReferenceSums::default())
    }

    /// Adds a row of a strip.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn add(&mut self, row: &[[ReferenceMoments; 2]], logarithm: &Logarithm) {
        let mut den = _mm512_setzero_si512();
        let (mut log_samples, mut vectors) = (0, 0);
        let visible = _mm512_set1_pd(NOISE.into());
        for &[_, variance] in row.as_flattened() {
            let is_log = _mm512_cmpge_epi32_mask(variance, _mm512_set1_epi32(NOISE));
            if is_log == 0 {
                continue;
            }
            log_samples += is_log.count_ones();
            vectors += 1;
            // Lanes without logarithm get that of a reference without variance, which the sums take out.
            let variance = _mm512_maskz_mov_epi32(is_log, variance);
            let [low, high] = [low_half(variance), high_half(variance)]
                .map(|half| _mm512_add_pd(_mm512_cvtepi32_pd(half), visible));
            den = _mm512_add_epi32(den, logarithm.of(merge(low, high)));
        }
        self.0.log_samples += i64::from(log_samples);
        self.0.logs += 16 * vectors;
        self.0.den += total(den);
    }
}

/// Sums of a distorted picture.
#[derive(Debug)]
pub(super) struct DistortedAccumulator {
    num: i64,
    /// Of 64 bits.
    non_log: __m512i,
}

impl DistortedAccumulator {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn new() -> Self {
        Self { num: 0, non_log: _mm512_setzero_si512() }
    }

    /// Adds a row of a strip.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn add(
        &mut self,
        reference: &[[ReferenceMoments; 2]],
        distorted: &[[DistortedMoments; 2]],
        limit: GainLimit,
        logarithm: &Logarithm,
    ) {
        let zero = _mm512_setzero_si512();
        let limit = _mm512_set1_pd(limit.0);
        let (mut non_log_sum, mut num) = (self.non_log, zero);
        let moments = reference.as_flattened().iter().zip(distorted.as_flattened());
        for (&[_, reference], &[distorted, covariance]) in moments {
            let is_log = _mm512_cmpge_epi32_mask(reference, _mm512_set1_epi32(NOISE));
            let non_log = _mm512_maskz_mov_epi32(!is_log, distorted);
            let even = _mm512_and_si512(non_log, _mm512_set1_epi64(u32::MAX.into()));
            non_log_sum =
                _mm512_add_epi64(non_log_sum, _mm512_add_epi64(even, _mm512_srli_epi64::<32>(non_log)));
            if is_log == 0 {
                continue;
            }
            // Lanes without logarithm get those of a reference without variance, which add up to zero.
            let reference = _mm512_maskz_mov_epi32(is_log, reference);
            let positive = _mm512_mask_cmpgt_epi32_mask(is_log, covariance, zero);
            let positive = _mm512_mask_cmpgt_epi32_mask(positive, distorted, zero);
            let covariance = _mm512_maskz_mov_epi32(positive, covariance);
            let low = Arguments::new(low_half(reference), low_half(distorted), low_half(covariance), limit);
            let high =
                Arguments::new(high_half(reference), high_half(distorted), high_half(covariance), limit);
            let all = logarithm.of(merge(low.all, high.all));
            let noise = logarithm.of(merge(low.noise, high.noise));
            num = _mm512_add_epi32(num, _mm512_sub_epi32(all, noise));
        }
        self.non_log = non_log_sum;
        self.num += total(num);
    }

    /// The sums of `samples` samples.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn sums(&self, samples: usize, reference: &ReferenceAccumulator) -> VifSums {
        let mut parts = [0_i64; 8];
        _mm512_storeu_si512(&mut parts, self.non_log);
        reference.0.with(samples, self.num, parts.iter().sum())
    }
}

/// Polynomials, from the constant coefficient on: those of the first 16 segments and of the others.
#[derive(Debug)]
pub(super) struct Logarithm([[__m512; 2]; 4]);

impl Logarithm {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn new(polynomials: &LogPolynomials) -> Self {
        let mut vectors = [[_mm512_castpd_ps(_mm512_setzero_pd()); 2]; 4];
        for (vectors, coefficients) in vectors.iter_mut().zip(&polynomials.coefficients) {
            for (vector, coefficients) in vectors.iter_mut().zip(coefficients.as_chunks().0) {
                *vector = _mm512_loadu_ps(coefficients);
            }
        }
        Self(vectors)
    }

    /// 2048 times the logarithm, with the exponent's bias, of a number's upper half.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    #[inline]
    fn of(&self, upper: __m512i) -> __m512i {
        let [zero, one, two, three] = self.0;
        // The exponent, and the segment in the lowest 5 bits: only these select a polynomial.
        let segment = _mm512_srli_epi32::<15>(upper);
        let place = _mm512_and_si512(_mm512_srli_epi32::<5>(upper), _mm512_set1_epi32(1023));
        let place = _mm512_cvtepi32_ps(place);
        let value = _mm512_fmadd_ps(select(three, segment), place, select(two, segment));
        let value = _mm512_fmadd_ps(value, place, select(one, segment));
        let value = _mm512_fmadd_ps(value, place, select(zero, segment));
        _mm512_add_epi32(_mm512_slli_epi32::<6>(segment), _mm512_cvttps_epi32(value))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn select(coefficients: [__m512; 2], segment: __m512i) -> __m512 {
    _mm512_permutex2var_ps(coefficients[0], segment, coefficients[1])
}

/// What logarithms are taken of: signal with noise, and noise. They are integers.
struct Arguments {
    all: __m512d,
    noise: __m512d,
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
        Self { all: _mm512_add_pd(signal, noise), noise }
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

/// The sum of lanes of 32 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn total(lanes: __m512i) -> i64 {
    let mut numbers = [0_i32; 16];
    _mm512_storeu_si512(&mut numbers, lanes);
    numbers.iter().map(|number| i64::from(*number)).sum()
}
