//! A pivoted Cholesky factorization of the kernel matrix between the support vectors.
//!
//! The factorization picks support vector after support vector as a pivot, each time the one with the largest
//! residual variance, until no residual exceeds [`RESIDUAL_TOLERANCE`]. With `L` the factor of the kernel matrix
//! between the pivots and `k` the kernels between a sample and the pivots, `L⁻¹k` are coordinates in which the prior
//! "the correction is a Gaussian process with this kernel" is isotropic. `L⁻ᵀ` converts a correction back to weights;
//! only the weights of pivots change.

use crate::learner::model::rbf_kernel;

/// Residual variance, as a share of a kernel's variance, at which the factorization stops. With a prior of 30 points
/// this leaves out corrections of a third of a point, and no weight exceeds a hundred times its coordinate.
const RESIDUAL_TOLERANCE: f64 = 1e-4;
/// The cost of an update grows with the square of the rank.
const MAX_RANK: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct KernelBasis {
    /// Indices of support vectors.
    pivots: Vec<usize>,
    /// Lower triangle, row by row: row `i` has `i + 1` values.
    factor: Vec<f64>,
}

impl KernelBasis {
    /// `None` if there are no support vectors, or if gamma is zero: then every kernel is 1, and only a shift could be
    /// learned.
    pub(super) fn of(vectors: &[Vec<f64>], gamma: f64) -> Option<Self> {
        let mut residual = vec![1.0; vectors.len()];
        // The rows of the factor, as far as they are computed, one for every support vector.
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); vectors.len()];
        let mut pivots: Vec<usize> = Vec::new();
        while pivots.len() < MAX_RANK.min(vectors.len()) {
            // The first of equal ones, so that the same model has the same basis on every machine.
            let pivot =
                (0..vectors.len()).fold(0, |best, at| if residual[at] > residual[best] { at } else { best });
            if residual[pivot] <= RESIDUAL_TOLERANCE {
                break;
            }
            let (pivot_row, root) = (rows[pivot].clone(), residual[pivot].sqrt());
            for (at, row) in rows.iter_mut().enumerate() {
                let explained: f64 = row.iter().zip(&pivot_row).map(|(a, b)| a * b).sum();
                let value = if at == pivot {
                    root
                } else {
                    (rbf_kernel(gamma, &vectors[at], &vectors[pivot]) - explained) / root
                };
                row.push(value);
                residual[at] -= value * value;
            }
            residual[pivot] = 0.0;
            pivots.push(pivot);
        }
        if pivots.is_empty() || gamma <= 0.0 {
            return None;
        }
        let factor = pivots.iter().enumerate().flat_map(|(i, &at)| rows[at][..=i].iter().copied()).collect();
        Some(Self { pivots, factor })
    }

    pub(super) fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// The coordinates of a sample, from its kernels with all support vectors: `L⁻¹k` by forward substitution.
    pub(super) fn coordinates(&self, kernels: &[f64]) -> Vec<f64> {
        let mut coordinates: Vec<f64> = Vec::with_capacity(self.rank() + 1);
        let mut remaining = self.factor.as_slice();
        for &pivot in &self.pivots {
            let (row, rest) = remaining.split_at(coordinates.len() + 1);
            let explained: f64 = row.iter().zip(&coordinates).map(|(a, b)| a * b).sum();
            coordinates.push((kernels[pivot] - explained) / row[coordinates.len()]);
            remaining = rest;
        }
        coordinates
    }

    /// The change of each pivot's weight that a correction amounts to: `L⁻ᵀ` by backward substitution.
    pub(super) fn weights(&self, correction: &[f64]) -> Vec<(usize, f64)> {
        let mut remainder: Vec<f64> = correction.to_vec();
        let mut weights = vec![(0, 0.0); self.rank()];
        for i in (0..self.rank()).rev() {
            let row = &self.factor[i * (i + 1) / 2..][..=i];
            let weight = remainder[i] / row[i];
            for (value, factor) in remainder.iter_mut().zip(row) {
                *value -= factor * weight;
            }
            weights[i] = (self.pivots[i], weight);
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors() -> Vec<Vec<f64>> {
        (0..40).map(|at| vec![f64::from(at) / 40.0, f64::from(at % 7)]).collect()
    }

    #[test]
    fn the_scalar_product_of_coordinates_is_the_kernel() {
        let (vectors, gamma) = (vectors(), 0.3);
        let basis = KernelBasis::of(&vectors, gamma).unwrap();
        let coordinates = |sample: &[f64]| {
            basis.coordinates(
                &vectors.iter().map(|vector| rbf_kernel(gamma, sample, vector)).collect::<Vec<_>>(),
            )
        };
        for (a, b) in [(0, 39), (3, 17), (5, 5)] {
            let (left, right) = (coordinates(&vectors[a]), coordinates(&vectors[b]));
            let product: f64 = left.iter().zip(right).map(|(a, b)| a * b).sum();
            let kernel = rbf_kernel(gamma, &vectors[a], &vectors[b]);
            assert!((product - kernel).abs() < 2.0 * RESIDUAL_TOLERANCE, "{product} instead of {kernel}");
        }
    }

    #[test]
    fn weights_and_coordinates_give_the_same_correction() {
        let (vectors, gamma) = (vectors(), 0.3);
        let basis = KernelBasis::of(&vectors, gamma).unwrap();
        let correction: Vec<f64> = (1..).map(|at| 1.0 / f64::from(at)).take(basis.rank()).collect();
        let kernels: Vec<f64> =
            vectors.iter().map(|vector| rbf_kernel(gamma, &[0.33, 2.5], vector)).collect();
        let by_weights: f64 =
            basis.weights(&correction).iter().map(|&(at, weight)| weight * kernels[at]).sum();
        let by_coordinates: f64 =
            basis.coordinates(&kernels).iter().zip(&correction).map(|(a, b)| a * b).sum();
        assert!((by_weights - by_coordinates).abs() < 1e-9);
    }

    #[test]
    fn equal_vectors_count_once_and_a_constant_kernel_has_no_basis() {
        let basis = KernelBasis::of(&[vec![0.5], vec![0.5], vec![0.9]], 1.0).unwrap();
        assert_eq!(basis.rank(), 2);
        assert!(KernelBasis::of(&vectors(), 0.0).is_none());
        assert!(KernelBasis::of(&[], 1.0).is_none());
    }
}
