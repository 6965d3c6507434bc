//! The covariance matrix of the samples of a block.
//!
//! Sums are of double precision, and rounded to single precision only at last. Their order hardly ever changes a bit, but it can:
//! libvmaf adds in the order that suits its instruction set, and so do [`SummationOrder`]'s variants, on every instruction set.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;

use super::dimensions::{BLOCK, Dimensions, VARIABLES};
use super::linear::Matrix;
use crate::InstructionSet;

/// The order in which libvmaf adds products for a covariance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SummationOrder {
    /// One after the other: libvmaf without AVX2.
    Sequential,
    /// Two times 4 partial sums with fused multiplication: libvmaf with AVX2.
    Avx2,
    /// Two times 8 partial sums with fused multiplication: libvmaf with AVX-512.
    Avx512,
}

impl SummationOrder {
    /// The order in which libvmaf adds on this CPU, whatever instruction set our kernels use.
    pub fn of_libvmaf() -> Self {
        match InstructionSet::of_libvmaf() {
            InstructionSet::Scalar => Self::Sequential,
            InstructionSet::Avx2 => Self::Avx2,
            InstructionSet::Avx512 => Self::Avx512,
        }
    }
}

/// The means of the windows, by the row and column where they start.
pub(super) type Means = [[f32; BLOCK]; BLOCK];

/// Lanes of the sums of a row of means, which are more than needed so that they fill a vector.
const LANES: usize = 8;

/// `details` are rows of `small_width` samples, and at least `LANES` samples behind them.
#[inline(always)]
#[allow(clippy::cast_precision_loss)] // As in libvmaf.
pub(super) fn means(dimensions: &Dimensions, details: &[f32]) -> Means {
    let (width, height) = (dimensions.window_width(), dimensions.window_height());
    let mut sums = [[0.0_f32; LANES]; BLOCK];
    for y in 0..height + BLOCK - 1 {
        let row = &details[y * dimensions.small_width..];
        // The windows that start at `first` to `last` contain this row.
        let (first, last) = ((y + 1).saturating_sub(height), y.min(BLOCK - 1));
        for samples in row.windows(LANES).take(width) {
            for sums in &mut sums[first..=last] {
                for (sum, sample) in sums.iter_mut().zip(samples) {
                    *sum += sample;
                }
            }
        }
    }
    let pixels = (width * height) as f32;
    std::array::from_fn(|row| std::array::from_fn(|column| sums[row][column] / pixels))
}

/// The specification of the matrix.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // As in libvmaf.
#[allow(clippy::needless_range_loop)] // The matrix is symmetric.
pub(super) fn covariances(
    dimensions: &Dimensions,
    details: &[f32],
    means: &Means,
    order: SummationOrder,
    matrix: &mut Matrix,
) {
    let pixels = (dimensions.window_width() * dimensions.window_height()) as f64;
    for first in 0..VARIABLES {
        for second in 0..=first {
            let covariance = (sum(dimensions, details, means, order, [first, second]) / pixels) as f32;
            matrix[first][second] = covariance;
            matrix[second][first] = covariance;
        }
    }
}

/// The sum of the products of two variables.
pub(super) fn sum(
    dimensions: &Dimensions,
    details: &[f32],
    means: &Means,
    order: SummationOrder,
    pair: [usize; 2],
) -> f64 {
    let window = |variable: usize, y: usize| {
        let (row, column) = (variable / BLOCK, variable % BLOCK);
        let mean = f64::from(means[row][column]);
        let start = (row + y) * dimensions.small_width + column;
        details[start..start + dimensions.window_width()].iter().map(move |&sample| f64::from(sample) - mean)
    };
    let rows = (0..dimensions.window_height()).map(|y| window(pair[0], y).zip(window(pair[1], y)));
    match order {
        SummationOrder::Sequential => rows.flatten().fold(0.0, |sum, (x, y)| sum + x * y),
        SummationOrder::Avx2 => {
            let (lanes, rest) = partial_sums::<4>(rows);
            lanes.iter().fold(0.0, |sum, lane| sum + lane) + rest
        }
        SummationOrder::Avx512 => {
            let (lanes, rest) = partial_sums::<8>(rows);
            reduce_eight(lanes) + rest
        }
    }
}

/// The sum of eight lanes in the order of AVX-512's reduction.
pub(super) fn reduce_eight(lanes: [f64; 8]) -> f64 {
    let half: [f64; 4] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 4]);
    (half[0] + half[2]) + (half[1] + half[3])
}

/// The sums of every `N`th product, and of those that do not fill all lanes at the end of a row.
fn partial_sums<const N: usize>(
    rows: impl Iterator<Item = impl ExactSizeIterator<Item = (f64, f64)>>,
) -> ([f64; N], f64) {
    let (mut even, mut odd, mut rest) = ([0.0_f64; N], [0.0_f64; N], 0.0);
    for row in rows {
        let width = row.len();
        let pairs = width / (2 * N) * (2 * N);
        let filled = width / N * N;
        for (index, (x, y)) in row.enumerate() {
            if index >= filled {
                rest += x * y;
                continue;
            }
            let lanes = if index < pairs && index / N % 2 == 1 { &mut odd } else { &mut even };
            lanes[index % N] = x.mul_add(y, lanes[index % N]);
        }
    }
    (std::array::from_fn(|lane| even[lane] + odd[lane]), rest)
}
