//! Cubed magnitudes, summed over a row.

use std::arch::x86_64::*;

use safe_unaligned_simd::x86_64::_mm512_loadu_si512;

use super::{LANES, even_and_odd, first_lanes, sum64};
use crate::adm::shifts::CubeShifts;
use crate::vectors::vectors;

/// Adds the cubes of magnitudes whose upper words are zero.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn fine(magnitudes: __m512i, sum: __m512i) -> __m512i {
    let [even, odd] = even_and_odd(magnitudes);
    let [even_squares, odd_squares] = even_and_odd(_mm512_madd_epi16(magnitudes, magnitudes));
    let cubes = _mm512_add_epi64(_mm512_mul_epu32(even_squares, even), _mm512_mul_epu32(odd_squares, odd));
    _mm512_add_epi64(sum, cubes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn cubes_fine(length: usize, bands: [&[i16]; 3]) -> [u64; 3] {
    let count = length.div_ceil(2 * LANES);
    let mut sums = [0; 3];
    for (total, band) in sums.iter_mut().zip(bands) {
        let mut sum = _mm512_setzero_si512();
        for (index, vector) in vectors::<32, _>(band, count).iter().enumerate() {
            let left = length - 2 * LANES * index;
            let inside = if left < 2 * LANES { (1 << left) - 1 } else { __mmask32::MAX };
            let magnitudes = _mm512_maskz_abs_epi16(inside, _mm512_loadu_si512(vector));
            sum = fine(_mm512_and_si512(magnitudes, _mm512_set1_epi32(0xFFFF)), sum);
            sum = fine(_mm512_srli_epi32::<16>(magnitudes), sum);
        }
        *total = sum64(sum);
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::adm) fn cubes_coarse(shifts: &CubeShifts, length: usize, bands: [&[i32]; 3]) -> [u64; 3] {
    let count = length.div_ceil(LANES);
    let square_rounding = _mm512_set1_epi64(1 << shifts.square);
    let square_shift = _mm512_set1_epi64(shifts.square.into());
    let cube_rounding = _mm512_set1_epi64((1 << shifts.cube) >> 1);
    let cube_shift = _mm512_set1_epi64(shifts.cube.into());
    let mut sums = [0; 3];
    for (total, band) in sums.iter_mut().zip(bands) {
        let mut sum = _mm512_setzero_si512();
        for (index, vector) in vectors::<LANES, _>(band, count).iter().enumerate() {
            let inside = first_lanes(length - LANES * index);
            let magnitudes = _mm512_maskz_abs_epi32(inside, _mm512_loadu_si512(vector));
            for magnitudes in even_and_odd(magnitudes) {
                let squares = _mm512_add_epi64(_mm512_mul_epu32(magnitudes, magnitudes), square_rounding);
                let squares = _mm512_srlv_epi64(squares, square_shift);
                let cubes = _mm512_add_epi64(_mm512_mul_epu32(squares, magnitudes), cube_rounding);
                sum = _mm512_add_epi64(sum, _mm512_srlv_epi64(cubes, cube_shift));
            }
        }
        *total = sum64(sum);
    }
    sums
}
