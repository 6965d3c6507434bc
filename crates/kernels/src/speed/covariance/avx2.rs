//! Covariances with AVX2 and FMA, in the orders of libvmaf's AVX2 and AVX-512.
//!
//! The windows of all 25 variables are centred a row at a time, which fits into the first cache, and each row's products are
//! added to the partial sums of all pairs.

use std::arch::x86_64::{__m256d, _mm256_add_pd, _mm256_fmadd_pd, _mm256_setzero_pd};

use safe_unaligned_simd::x86_64::{_mm256_loadu_pd, _mm256_storeu_pd};

use super::super::dimensions::{BLOCK, Dimensions, VARIABLES};
use super::super::linear::Matrix;
use super::{Means, reduce_eight};

/// Doubles of a vector.
const LANES: usize = 4;
/// Pairs with the same first variable that are summed together.
const GROUP: usize = 4;
/// Variables with those that fill the last group.
const PADDED: usize = VARIABLES.div_ceil(GROUP) * GROUP;
/// Partial sums of a pair, in vectors, for the order that has more.
const MAX_SUMS: usize = 4;

type Lanes = [f64; LANES];

/// The buffers of the step.
#[derive(Clone, Debug)]
pub(in super::super) struct CentredRows {
    /// A row of the window of each variable.
    rows: Vec<f64>,
    stride: usize,
    /// For each pair, its partial sums.
    sums: Vec<[Lanes; MAX_SUMS]>,
    /// For each pair, the sum of the products that fill no vector, and at last of all products.
    rests: Vec<f64>,
}

impl CentredRows {
    pub(in super::super) fn new(dimensions: &Dimensions) -> Self {
        let stride = dimensions.window_width().next_multiple_of(LANES);
        Self {
            rows: vec![0.0; PADDED * stride],
            stride,
            sums: vec![[[0.0; LANES]; MAX_SUMS]; VARIABLES * PADDED],
            rests: vec![0.0; VARIABLES * PADDED],
        }
    }

    /// The sum of the products of two variables, of which the first is not less.
    #[cfg(test)]
    pub(in super::super) fn sum(&self, [first, second]: [usize; 2]) -> f64 {
        self.rests[first * PADDED + second]
    }
}

/// The matrix; see [`super::covariances`]. There are `SUMS` vectors of partial sums, which take turns.
#[target_feature(enable = "avx2,fma")]
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // As in libvmaf.
#[allow(clippy::needless_range_loop)] // The matrix is symmetric.
pub(in super::super) fn covariances<const SUMS: usize>(
    dimensions: &Dimensions,
    details: &[f32],
    means: &Means,
    buffers: &mut CentredRows,
    matrix: &mut Matrix,
) {
    let (width, height) = (dimensions.window_width(), dimensions.window_height());
    let CentredRows { rows, stride, sums, rests } = buffers;
    let stride = *stride;
    // Half of the sums are libvmaf's vector; samples that do not fill it are summed by themselves.
    let filled = width / (SUMS / 2 * LANES) * (SUMS / 2);
    sums.fill([[0.0; LANES]; MAX_SUMS]);
    rests.fill(0.0);
    for y in 0..height {
        for (variable, row) in rows.chunks_exact_mut(stride).take(VARIABLES).enumerate() {
            let (down, right) = (variable / BLOCK, variable % BLOCK);
            let mean = f64::from(means[down][right]);
            let samples = &details[(y + down) * dimensions.small_width + right..][..width];
            for (centred, &sample) in row.iter_mut().zip(samples) {
                *centred = f64::from(sample) - mean;
            }
        }
        for first in 0..VARIABLES {
            let row = &rows[first * stride..][..stride];
            for group in (0..=first).step_by(GROUP) {
                let others = &rows[group * stride..][..GROUP * stride];
                let pair = first * PADDED + group;
                if let Some(sums) = sums[pair..].first_chunk_mut::<GROUP>() {
                    add_row::<SUMS>(row, others, stride, filled, sums);
                }
                if filled * LANES < width {
                    for (other, rest) in others.chunks_exact(stride).zip(&mut rests[pair..]) {
                        for (x, y) in row[filled * LANES..width].iter().zip(&other[filled * LANES..width]) {
                            *rest += x * y;
                        }
                    }
                }
            }
        }
    }
    let pixels = (width * height) as f64;
    for first in 0..VARIABLES {
        for second in 0..=first {
            let pair = first * PADDED + second;
            let sums = sums[pair].map(|sums| _mm256_loadu_pd(&sums));
            let sum = if SUMS == 2 {
                store(_mm256_add_pd(sums[0], sums[1])).iter().fold(0.0, |sum, lane| sum + lane)
            } else {
                let (low, high) =
                    (store(_mm256_add_pd(sums[0], sums[2])), store(_mm256_add_pd(sums[1], sums[3])));
                reduce_eight([low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]])
            };
            rests[pair] += sum;
            let covariance = (rests[pair] / pixels) as f32;
            matrix[first][second] = covariance;
            matrix[second][first] = covariance;
        }
    }
}

/// Adds the products of a row with the rows of a group.
#[target_feature(enable = "avx2,fma")]
#[inline]
#[allow(clippy::needless_range_loop)] // Indices are constants after unrolling.
fn add_row<const SUMS: usize>(
    row: &[f64],
    others: &[f64],
    stride: usize,
    filled: usize,
    sums: &mut [[Lanes; MAX_SUMS]; GROUP],
) {
    // Two pairs at a time with four sums each, or four with two, so that all sums stay in registers.
    let pairs = GROUP * 2 / SUMS;
    for start in (0..GROUP).step_by(pairs) {
        let mut held = [[_mm256_setzero_pd(); SUMS]; GROUP];
        for pair in 0..pairs {
            for sum in 0..SUMS {
                held[pair][sum] = _mm256_loadu_pd(&sums[start + pair][sum]);
            }
        }
        let mut vector = 0;
        while vector < filled {
            for sum in 0..SUMS {
                if vector + sum < filled {
                    let x = load(row, (vector + sum) * LANES);
                    for pair in 0..pairs {
                        let y = load(others, (start + pair) * stride + (vector + sum) * LANES);
                        held[pair][sum] = _mm256_fmadd_pd(x, y, held[pair][sum]);
                    }
                }
            }
            vector += SUMS;
        }
        for pair in 0..pairs {
            for sum in 0..SUMS {
                sums[start + pair][sum] = store(held[pair][sum]);
            }
        }
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn load(values: &[f64], at: usize) -> __m256d {
    _mm256_loadu_pd(values[at..].first_chunk().unwrap_or(&[0.0; LANES]))
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn store(vector: __m256d) -> Lanes {
    let mut lanes = [0.0; LANES];
    _mm256_storeu_pd(&mut lanes, vector);
    lanes
}
