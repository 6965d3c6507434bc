//! Directions out of centres: a pivoted Cholesky factor of the kernel between the centres.
//!
//! Centre after centre is taken, each time the one that those before it explain least, until none is left of which
//! more than [`LEFT`] is unexplained. With `L` the factor of the kernel between the taken ones and `k` the bumps of a
//! sample at them, `L⁻¹k` are coordinates in which the prior "the correction looks like the kernel" is the same in
//! every direction. Weights come back by `L⁻ᵀ`. Only the taken centres change.

use crate::learner::model::bump;

/// The part of a bump's variance that may stay unexplained. With a prior of 30 points this leaves out corrections of a
/// third of a point, and no weight grows beyond a hundred times its coordinate.
const LEFT: f64 = 1e-4;
/// Most directions: a step costs the square of it.
const MOST: usize = 64;

/// Centres that were taken, and the factor of the kernel between them.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    taken: Vec<usize>,
    /// Lower triangle, one row after the other: row `i` has `i + 1` values.
    factor: Vec<f64>,
}

impl Basis {
    /// The directions of these centres; nothing if there are none.
    pub(super) fn of(centres: &[Vec<f64>], gamma: f64) -> Option<Self> {
        let mut left = vec![1.0; centres.len()];
        // One row of the factor for every centre, as far as it has been computed.
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); centres.len()];
        let mut taken: Vec<usize> = Vec::new();
        while taken.len() < MOST.min(centres.len()) {
            // Of equal ones the first, so that the same model has the same basis everywhere.
            let next = (0..centres.len()).fold(0, |best, at| if left[at] > left[best] { at } else { best });
            if left[next] <= LEFT {
                break;
            }
            let (pivot, root) = (rows[next].clone(), left[next].sqrt());
            for (at, row) in rows.iter_mut().enumerate() {
                let explained: f64 = row.iter().zip(&pivot).map(|(a, b)| a * b).sum();
                let value = if at == next {
                    root
                } else {
                    (bump(gamma, &centres[at], &centres[next]) - explained) / root
                };
                row.push(value);
                left[at] -= value * value;
            }
            left[next] = 0.0;
            taken.push(next);
        }
        // Gamma zero makes all bumps one: then there is nothing to learn but a shift.
        if taken.is_empty() || gamma <= 0.0 {
            return None;
        }
        let factor = taken.iter().enumerate().flat_map(|(i, &at)| rows[at][..=i].iter().copied()).collect();
        Some(Self { taken, factor })
    }

    pub(super) fn rank(&self) -> usize {
        self.taken.len()
    }

    /// The coordinates of a sample, by its bumps at all centres.
    pub(super) fn coordinates(&self, bumps: &[f64]) -> Vec<f64> {
        let mut along: Vec<f64> = Vec::with_capacity(self.rank() + 1);
        let mut rest = self.factor.as_slice();
        for &centre in &self.taken {
            let (row, behind) = rest.split_at(along.len() + 1);
            let known: f64 = row.iter().zip(&along).map(|(a, b)| a * b).sum();
            along.push((bumps[centre] - known) / row[along.len()]);
            rest = behind;
        }
        along
    }

    /// The change of each taken centre's weight that amounts to a correction.
    pub(super) fn weights(&self, correction: &[f64]) -> Vec<(usize, f64)> {
        let mut left: Vec<f64> = correction.to_vec();
        let mut weights = vec![(0, 0.0); self.rank()];
        for i in (0..self.rank()).rev() {
            let row = &self.factor[i * (i + 1) / 2..][..=i];
            let weight = left[i] / row[i];
            for (value, factor) in left.iter_mut().zip(row) {
                *value -= factor * weight;
            }
            weights[i] = (self.taken[i], weight);
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Vec<Vec<f64>> {
        (0..40).map(|at| vec![f64::from(at) / 40.0, f64::from(at % 7)]).collect()
    }

    #[test]
    fn coordinates_of_two_samples_multiply_to_the_kernel_between_them() {
        let (centres, gamma) = (line(), 0.3);
        let basis = Basis::of(&centres, gamma).unwrap();
        let along = |sample: &[f64]| {
            basis.coordinates(&centres.iter().map(|centre| bump(gamma, sample, centre)).collect::<Vec<_>>())
        };
        for (a, b) in [(0, 39), (3, 17), (5, 5)] {
            let product: f64 = along(&centres[a]).iter().zip(along(&centres[b])).map(|(a, b)| a * b).sum();
            let kernel = bump(gamma, &centres[a], &centres[b]);
            assert!((product - kernel).abs() < 2.0 * LEFT, "{product} instead of {kernel}");
        }
    }

    #[test]
    fn weights_say_what_coordinates_say() {
        let (centres, gamma) = (line(), 0.3);
        let basis = Basis::of(&centres, gamma).unwrap();
        let correction: Vec<f64> = (1..).map(|at| 1.0 / f64::from(at)).take(basis.rank()).collect();
        let bumps: Vec<f64> = centres.iter().map(|centre| bump(gamma, &[0.33, 2.5], centre)).collect();
        let by_weights: f64 = basis.weights(&correction).iter().map(|&(at, weight)| weight * bumps[at]).sum();
        let by_coordinates: f64 = basis.coordinates(&bumps).iter().zip(&correction).map(|(a, b)| a * b).sum();
        assert!((by_weights - by_coordinates).abs() < 1e-9);
    }

    #[test]
    fn equal_centres_count_once_and_a_kernel_that_sees_nothing_is_no_basis() {
        let basis = Basis::of(&[vec![0.5], vec![0.5], vec![0.9]], 1.0).unwrap();
        assert_eq!(basis.rank(), 2);
        assert!(Basis::of(&line(), 0.0).is_none());
        assert!(Basis::of(&[], 1.0).is_none());
    }
}
