//! The kernel expansion of the base model, which is linear in its weights.
//!
//! The model is a weighted sum of radial kernels around fixed support vectors, so a correction is a sum over the same
//! support vectors. VMAF's kernels are so wide that they are nearly collinear: two hundred of them span about a dozen
//! significant directions. The [`KernelBasis`] finds those and whitens them, so that an update in one direction does
//! not have to counteract all others. One more coordinate, always 1, shifts all scores alike.

mod basis;

use self::basis::KernelBasis;
use super::LearnerError;
use super::model::BaseModel;

/// A base model and the coordinates in which it is corrected.
#[derive(Clone, Debug)]
pub(super) struct KernelExpansion {
    base: BaseModel,
    basis: KernelBasis,
}

/// One row of the linear regression.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DesignRow {
    /// The base model's score, before transform and clip.
    pub(super) base_points: f64,
    /// The coordinates of the correction. The sum of their squares is at most 2.
    pub(super) coordinates: Vec<f64>,
}

/// The parameters of a corrected support vector machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CorrectedMachine {
    pub(super) weights: Vec<f64>,
    pub(super) rho: f64,
}

impl KernelExpansion {
    pub(super) fn new(base: BaseModel) -> Result<Self, LearnerError> {
        let machine = base.machine();
        let basis = KernelBasis::of(&machine.vectors, machine.gamma).ok_or_else(|| LearnerError::Base {
            model: base.name().to_owned(),
            problem: "its kernel does not depend on the features".to_owned(),
        })?;
        Ok(Self { base, basis })
    }

    pub(super) fn base(&self) -> &BaseModel {
        &self.base
    }

    /// Number of coordinates.
    pub(super) fn rank(&self) -> usize {
        self.basis.rank() + 1
    }

    pub(super) fn row(&self, features: &[f64]) -> DesignRow {
        let kernels = self.base.kernels(&self.base.rescaled(features));
        let mut coordinates = self.basis.coordinates(&kernels);
        coordinates.push(1.0);
        DesignRow { base_points: self.base.points(&kernels), coordinates }
    }

    /// The machine whose output is the base model's plus this correction.
    pub(super) fn corrected(&self, correction: &[f64]) -> CorrectedMachine {
        let machine = self.base.machine();
        let slope = self.base.output().slope();
        let (shift, along) = correction.split_last().unwrap_or((&0.0, &[]));
        let mut weights = machine.weights.clone();
        for (vector, change) in self.basis.weights(along) {
            weights[vector] += slope * change;
        }
        CorrectedMachine { weights, rho: machine.rho - slope * shift }
    }
}

#[cfg(test)]
mod tests {
    use vmafx_scoring::engine::models::Model;

    use super::*;

    fn expansion() -> KernelExpansion {
        let model = Model::named("vmaf_v0.6.1").unwrap();
        KernelExpansion::new(BaseModel::parse("vmaf_v0.6.1", model.json()).unwrap()).unwrap()
    }

    #[test]
    fn two_hundred_wide_kernels_span_a_dozen_or_two_directions() {
        assert!((8..40).contains(&expansion().rank()), "{}", expansion().rank());
    }

    #[test]
    fn coordinates_are_never_longer_than_the_kernel_allows() {
        let expansion = expansion();
        for step in 0..50 {
            let at = f64::from(step) / 10.0 - 2.0;
            let row = expansion.row(&[at, at * 3.0, at, 1.0 - at, at, 0.5]);
            let length: f64 = row.coordinates.iter().map(|value| value * value).sum();
            assert!(length <= 2.0 + 1e-9, "{length}");
        }
    }

    #[test]
    fn a_zero_correction_changes_no_bit_of_the_machine() {
        let expansion = expansion();
        let same = expansion.corrected(&vec![0.0; expansion.rank()]);
        let machine = expansion.base().machine();
        assert_eq!((&same.weights, same.rho), (&machine.weights, machine.rho));
    }

    #[test]
    fn a_corrected_machine_computes_base_plus_correction() {
        let expansion = expansion();
        let correction: Vec<f64> =
            (0..expansion.rank()).map(|at| if at % 2 == 0 { 30.0 } else { -20.0 }).collect();
        let features = [0.93, 3.1, 0.42, 0.8, 0.88, 0.91];
        let row = expansion.row(&features);
        let expected =
            row.base_points + row.coordinates.iter().zip(&correction).map(|(a, b)| a * b).sum::<f64>();
        let corrected = expansion.corrected(&correction);
        let kernels = expansion.base().kernels(&expansion.base().rescaled(&features));
        let sum: f64 = kernels.iter().zip(&corrected.weights).map(|(kernel, weight)| weight * kernel).sum();
        let found = expansion.base().output().points(sum - corrected.rho);
        assert!((found - expected).abs() < 1e-8, "{found} instead of {expected}");
    }
}
