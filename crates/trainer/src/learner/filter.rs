//! One step of learning.
//!
//! The correction is a vector of weights. Beside it stands a matrix, the **spread**: how unsure each direction still is.
//! A sample moves the weights along what it looks at and is unsure about, by as much as its error is surprising beside
//! the noise of labels, and makes those directions surer:
//!
//! ```text
//! g = spread·h      s = noise + hᵀg      weights −= error·g / s      spread −= g·gᵀ / s
//! ```
//!
//! This is gradient descent whose preconditioner learns (recursive Gauss-Newton, or a Kalman filter of weights that
//! stand still). Two things are added. Part of the spread comes back at each step, so it never vanishes and never
//! exceeds the prior. And a label that is too surprising counts as a noisier one.

use super::Options;
use super::state::{Reader, Writer, damaged};
use super::{LearnerError, Refusal};

/// Weights, and how unsure they are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    weights: Vec<f64>,
    /// Symmetric, one row after the other.
    spread: Vec<f64>,
}

/// What a step goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    /// Coordinates of the sample.
    pub(super) along: &'a [f64],
    /// How fast the score goes up with the points.
    pub(super) slope: f64,
    /// The score less the label.
    pub(super) error: f64,
    /// How many times less sure the label is than a new one.
    pub(super) caution: f64,
    /// The share of the prior that comes back.
    pub(super) forgetting: f64,
}

/// No step is longer than this many times the prior.
const LONGEST_STEP: f64 = 2.0;
/// The weights are never longer than this many times the prior: 50 standard deviations.
const LONGEST: f64 = 50.0;

impl Filter {
    /// Weights of zero, as unsure as the prior.
    pub(super) fn new(rank: usize, options: &Options) -> Self {
        let mut spread = vec![0.0; rank * rank];
        for at in 0..rank {
            spread[at * rank + at] = options.prior * options.prior;
        }
        Self { weights: vec![0.0; rank], spread }
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Takes a step, or leaves everything as it is.
    pub(super) fn step(&mut self, step: &Step<'_>, options: &Options) -> Result<(), Refusal> {
        let rank = self.weights.len();
        let look: Vec<f64> = step.along.iter().map(|value| step.slope * value).collect();
        let gain: Vec<f64> = self.spread.chunks_exact(rank).map(|row| dot(row, &look)).collect();
        // Rounding may bring a direction that is well known below zero by a hair.
        let unsure = dot(&look, &gain).max(0.0);
        let noise = step.caution * options.label_noise * options.label_noise;
        let surprise = step.error.abs() / (noise + unsure).sqrt() / options.surprise;
        let whole = noise * surprise.max(1.0) + unsure;

        let length = step.error.abs() * dot(&gain, &gain).sqrt() / whole;
        let shorter = (LONGEST_STEP * options.prior / length).min(1.0);
        let mut moved: Vec<f64> = self
            .weights
            .iter()
            .zip(&gain)
            .map(|(weight, gain)| weight - shorter * step.error * gain / whole)
            .collect();
        let length = dot(&moved, &moved).sqrt();
        let shorter = (LONGEST * options.prior / length).min(1.0);
        for weight in &mut moved {
            *weight *= shorter;
        }

        let most = gain.iter().fold(0.0_f64, |most, gain| most.max(gain.abs()));
        let sound = moved.iter().all(|weight| weight.is_finite()) && (most * most / whole).is_finite();
        if !sound {
            return Err(Refusal::Undone);
        }
        self.weights = moved;
        self.tighten(&gain, whole, step.forgetting, options.prior * options.prior);
        Ok(())
    }

    /// Upper triangle and its mirror from the same number, so that the matrix stays symmetric to the bit.
    fn tighten(&mut self, gain: &[f64], whole: f64, forgetting: f64, prior: f64) {
        let rank = self.weights.len();
        let kept = 1.0 - forgetting;
        for i in 0..rank {
            let scaled = gain[i] / whole;
            for (j, gain) in gain.iter().enumerate().skip(i) {
                let mut value = kept * (self.spread[i * rank + j] - scaled * gain);
                if i == j {
                    value = value.max(0.0) + forgetting * prior;
                }
                self.spread[i * rank + j] = value;
                self.spread[j * rank + i] = value;
            }
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.count(self.weights.len());
        writer.numbers(&self.weights);
        writer.numbers(&self.spread);
    }

    pub(super) fn read(rank: usize, reader: &mut Reader<'_>) -> Result<Self, LearnerError> {
        if reader.unsigned()? != rank as u64 {
            return Err(damaged("it has another number of directions than the base model"));
        }
        Ok(Self { weights: bounded(reader.numbers(rank)?)?, spread: bounded(reader.numbers(rank * rank)?)? })
    }
}

/// Saved numbers, if a learner can have come to them.
pub(super) fn bounded(numbers: Vec<f64>) -> Result<Vec<f64>, LearnerError> {
    const LARGEST: f64 = 1e12;
    let fit = numbers.iter().all(|number| number.abs() <= LARGEST);
    if fit { Ok(numbers) } else { Err(damaged("one of its weights is out of all bounds")) }
}

/// The sum of the products.
pub(super) fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn step(along: &[f64], error: f64) -> Step<'_> {
        Step { along, slope: 1.0, error, caution: 1.0, forgetting: 0.0 }
    }

    fn options() -> Options {
        Options { label_noise: 10.0, prior: 20.0, ..Options::default() }
    }

    #[test]
    fn a_first_step_goes_as_far_as_prior_and_noise_say() {
        let mut filter = Filter::new(2, &options());
        filter.step(&step(&[1.0, 0.0], 10.0), &options()).unwrap();
        // 400 / (100 + 400) of the error, and 400 - 400² / 500 is left of the spread.
        assert!((filter.weights[0] + 8.0).abs() < 1e-12);
        assert!((filter.spread[0] - 80.0).abs() < 1e-12);
        assert_eq!((filter.weights[1], filter.spread[3]), (0.0, 400.0));
    }

    #[test]
    fn many_labels_are_averaged() {
        let mut filter = Filter::new(1, &options());
        for index in 0..1000 {
            let label = if index % 2 == 0 { 12.0 } else { 8.0 };
            let error = filter.weights[0] - label;
            filter.step(&step(&[1.0], error), &options()).unwrap();
        }
        assert!((filter.weights[0] - 10.0).abs() < 0.1, "{}", filter.weights[0]);
    }

    #[test]
    fn what_is_forgotten_can_be_learned_again() {
        let distance_after = |forgetting: f64| {
            let mut filter = Filter::new(1, &options());
            for label in std::iter::repeat_n(0.0, 5000).chain(std::iter::repeat_n(15.0, 100)) {
                let error = filter.weights[0] - label;
                filter.step(&Step { forgetting, ..step(&[1.0], error) }, &options()).unwrap();
            }
            (filter.weights[0] - 15.0).abs()
        };
        assert!(distance_after(0.0) > 13.0, "{}", distance_after(0.0));
        assert!(distance_after(5e-4) < 2.0, "{}", distance_after(5e-4));
    }

    #[test]
    fn the_spread_never_exceeds_the_prior() {
        let mut filter = Filter::new(3, &options());
        for index in 0..10_000_u32 {
            let along = [f64::from(index % 3), f64::from(index % 2), 0.0];
            filter.step(&Step { forgetting: 0.01, ..step(&along, 5.0) }, &options()).unwrap();
        }
        assert!(
            (0..3).all(|at| (0.0..=400.0 + 1e-9).contains(&filter.spread[at * 4])),
            "{:?}",
            filter.spread
        );
        assert!((filter.spread[8] - 400.0).abs() < 1e-6, "what no sample looks at stays unsure");
    }

    #[test]
    fn a_label_that_cannot_be_true_moves_less_than_one_that_surprises() {
        let moved = |error: f64| {
            let mut filter = Filter::new(1, &options());
            (0..50).for_each(|_| filter.step(&step(&[1.0], 0.0), &options()).unwrap());
            filter.step(&step(&[1.0], error), &options()).unwrap();
            filter.weights[0].abs()
        };
        assert!(moved(100.0) < 1.2 * moved(20.0), "{} {}", moved(100.0), moved(20.0));
        assert!(moved(20.0) > 3.0 * moved(5.0));
    }

    #[test]
    fn steps_and_weights_are_bounded() {
        let wild = Options { label_noise: 1e-3, surprise: 1e9, ..options() };
        let mut filter = Filter::new(2, &wild);
        filter.step(&step(&[1e-6, 0.0], 1e9), &wild).unwrap();
        assert!(dot(filter.weights(), filter.weights()).sqrt() <= 40.0 + 1e-9);
        for _ in 0..100_000 {
            filter.step(&Step { forgetting: 0.5, ..step(&[1e-6, 0.0], 1e9) }, &wild).unwrap();
        }
        assert!(dot(filter.weights(), filter.weights()).sqrt() <= 1000.0 + 1e-6);
    }

    #[rstest]
    #[case::infinite_error(&[1.0, 1.0], f64::INFINITY)]
    #[case::error_that_is_no_number(&[1.0, 1.0], f64::NAN)]
    #[case::infinite_sample(&[f64::INFINITY, 1.0], 1.0)]
    #[case::sample_that_overflows(&[1e200, 1.0], 1.0)]
    fn a_step_out_of_the_numbers_is_undone(#[case] along: &[f64], #[case] error: f64) {
        let mut filter = Filter::new(2, &options());
        filter.step(&step(&[0.3, 1.0], 7.0), &options()).unwrap();
        let before = filter.clone();
        assert_eq!(filter.step(&step(along, error), &options()), Err(Refusal::Undone));
        assert_eq!(filter, before);
    }

    #[test]
    fn saved_weights_that_no_learner_comes_to_are_damage() {
        let mut filter = Filter::new(2, &options());
        let read = |filter: &Filter| {
            let mut writer = Writer::new();
            filter.write(&mut writer);
            let state = writer.finish();
            Filter::read(2, &mut Reader::new(&state).unwrap())
        };
        assert_eq!(read(&filter).unwrap(), filter);
        filter.weights[1] = 1e300;
        assert!(matches!(read(&filter), Err(LearnerError::Damaged { .. })));
    }

    #[test]
    fn a_flat_transform_teaches_nothing() {
        let mut filter = Filter::new(1, &options());
        let before = filter.clone();
        filter.step(&Step { slope: 0.0, ..step(&[1.0], 30.0) }, &options()).unwrap();
        assert_eq!(filter, before);
    }
}
