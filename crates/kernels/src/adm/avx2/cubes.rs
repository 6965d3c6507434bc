//! Cubed magnitudes, summed over a row.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::{_mm_loadu_si128, _mm256_loadu_si256};

use super::{first_lanes, sum64};
use crate::adm::shifts::CubeShifts;
use crate::vectors::vectors;

#[target_feature(enable = "avx2")]
fn fine(magnitudes: __m256i, sum: __m256i) -> __m256i {
    // The upper words are zero.
    let squares = _mm256_madd_epi16(magnitudes, magnitudes);
    let even = _mm256_mul_epu32(squares, magnitudes);
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(squares), _mm256_srli_epi64::<32>(magnitudes));
    _mm256_add_epi64(sum, _mm256_add_epi64(even, odd))
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn cubes_fine(length: usize, bands: [&[i16]; 3]) -> [u64; 3] {
    let [horizontal, vertical, diagonal] = bands;
    [cubes_of(length, horizontal), cubes_of(length, vertical), cubes_of(length, diagonal)]
}

#[target_feature(enable = "avx2")]
fn cubes_of(length: usize, band: &[i16]) -> u64 {
    let count = length.div_ceil(8);
    let mut sum = _mm256_setzero_si256();
    if let Some((last, vectors)) = vectors::<8, _>(band, count).split_last() {
        for vector in vectors {
            sum = fine(_mm256_cvtepu16_epi32(_mm_abs_epi16(_mm_loadu_si128(vector))), sum);
        }
        let magnitudes = _mm256_cvtepu16_epi32(_mm_abs_epi16(_mm_loadu_si128(last)));
        sum = fine(_mm256_and_si256(magnitudes, first_lanes(length - 8 * (count - 1))), sum);
    }
    sum64(sum)
}

#[target_feature(enable = "avx2")]
pub(in crate::adm) fn cubes_coarse(shifts: &CubeShifts, length: usize, bands: [&[i32]; 3]) -> [u64; 3] {
    let count = length.div_ceil(8);
    let square_rounding = _mm256_set1_epi64x(1 << shifts.square);
    let square_shift = _mm_cvtsi32_si128(shifts.square.cast_signed());
    let cube_rounding = _mm256_set1_epi64x((1 << shifts.cube) >> 1);
    let cube_shift = _mm_cvtsi32_si128(shifts.cube.cast_signed());
    let mut sums = [0; 3];
    for (total, band) in sums.iter_mut().zip(bands) {
        let mut sum = _mm256_setzero_si256();
        for (index, vector) in vectors::<8, _>(band, count).iter().enumerate() {
            let mut magnitudes = _mm256_abs_epi32(_mm256_loadu_si256(vector));
            if index + 1 == count {
                magnitudes = _mm256_and_si256(magnitudes, first_lanes(length - 8 * index));
            }
            for magnitudes in [magnitudes, _mm256_srli_epi64::<32>(magnitudes)] {
                let squares = _mm256_add_epi64(_mm256_mul_epu32(magnitudes, magnitudes), square_rounding);
                let squares = _mm256_srl_epi64(squares, square_shift);
                let cubes = _mm256_add_epi64(_mm256_mul_epu32(squares, magnitudes), cube_rounding);
                sum = _mm256_add_epi64(sum, _mm256_srl_epi64(cubes, cube_shift));
            }
        }
        *total = sum64(sum);
    }
    sums
}
