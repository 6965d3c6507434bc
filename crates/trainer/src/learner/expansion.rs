//! The base model as a sum that can be learned.
//!
//! The model is a weighted sum of bumps around fixed centres, so it is linear in its weights and a correction is a sum
//! over the same centres. VMAF's bumps are so wide that they nearly repeat each other: two hundred centres span about a
//! dozen directions that matter. The [`Basis`] finds those, and makes them equally strong and independent, so that a
//! step in one does not have to fight all others. A last coordinate, always 1, moves all scores alike.

mod basis;

use self::basis::Basis;
use super::LearnerError;
use super::model::BaseModel;

/// A base model and the coordinates in which it is corrected.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    base: BaseModel,
    basis: Basis,
}

/// What a sample is to the learner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// The base model's score, before transform and clip.
    pub(super) points: f64,
    /// The coordinates of the correction. Their squares sum up to 2 at most.
    pub(super) along: Vec<f64>,
}

/// A corrected machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Corrected {
    pub(super) weights: Vec<f64>,
    pub(super) rho: f64,
}

impl Expansion {
    pub(super) fn new(base: BaseModel) -> Result<Self, LearnerError> {
        let machine = base.machine();
        let basis = Basis::of(&machine.vectors, machine.gamma).ok_or_else(|| LearnerError::Base {
            model: base.name().to_owned(),
            problem: "all inputs are the same to it".to_owned(),
        })?;
        Ok(Self { base, basis })
    }

    pub(super) fn base(&self) -> &BaseModel {
        &self.base
    }

    /// How many coordinates there are.
    pub(super) fn rank(&self) -> usize {
        self.basis.rank() + 1
    }

    /// What a sample with these features is.
    pub(super) fn row(&self, features: &[f64]) -> Row {
        let bumps = self.base.bumps(&self.base.rescaled(features));
        let mut along = self.basis.coordinates(&bumps);
        along.push(1.0);
        Row { points: self.base.points(&bumps), along }
    }

    /// The machine that says what the base model and this correction say together.
    pub(super) fn corrected(&self, correction: &[f64]) -> Corrected {
        let machine = self.base.machine();
        let per_point = self.base.output().per_point();
        let (shift, along) = correction.split_last().unwrap_or((&0.0, &[]));
        let mut weights = machine.weights.clone();
        for (centre, change) in self.basis.weights(along) {
            weights[centre] += per_point * change;
        }
        Corrected { weights, rho: machine.rho - per_point * shift }
    }
}

#[cfg(test)]
mod tests {
    use vmafx_scoring::engine::models::Model;

    use super::*;

    fn expansion() -> Expansion {
        let model = Model::named("vmaf_v0.6.1").unwrap();
        Expansion::new(BaseModel::parse("vmaf_v0.6.1", model.json()).unwrap()).unwrap()
    }

    #[test]
    fn two_hundred_wide_bumps_are_a_dozen_or_two_directions() {
        assert!((8..40).contains(&expansion().rank()), "{}", expansion().rank());
    }

    #[test]
    fn coordinates_are_never_longer_than_the_bumps_themselves() {
        let expansion = expansion();
        for step in 0..50 {
            let at = f64::from(step) / 10.0 - 2.0;
            let row = expansion.row(&[at, at * 3.0, at, 1.0 - at, at, 0.5]);
            let length: f64 = row.along.iter().map(|value| value * value).sum();
            assert!(length <= 2.0 + 1e-9, "{length}");
        }
    }

    #[test]
    fn no_correction_leaves_every_bit_of_the_machine() {
        let expansion = expansion();
        let same = expansion.corrected(&vec![0.0; expansion.rank()]);
        let machine = expansion.base().machine();
        assert_eq!((&same.weights, same.rho), (&machine.weights, machine.rho));
    }

    #[test]
    fn a_corrected_machine_says_what_base_and_correction_say() {
        let expansion = expansion();
        let correction: Vec<f64> =
            (0..expansion.rank()).map(|at| if at % 2 == 0 { 30.0 } else { -20.0 }).collect();
        let features = [0.93, 3.1, 0.42, 0.8, 0.88, 0.91];
        let row = expansion.row(&features);
        let expected = row.points + row.along.iter().zip(&correction).map(|(a, b)| a * b).sum::<f64>();
        let corrected = expansion.corrected(&correction);
        let seen = expansion.base().rescaled(&features);
        let bumps = expansion.base().bumps(&seen);
        let said: f64 = bumps.iter().zip(&corrected.weights).map(|(bump, weight)| weight * bump).sum();
        let found = expansion.base().output().points(said - corrected.rho);
        assert!((found - expected).abs() < 1e-8, "{found} instead of {expected}");
    }
}
