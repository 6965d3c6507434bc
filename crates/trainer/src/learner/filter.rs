//! The update by one sample: a Kalman filter over constant weights, which is recursive least squares.
//!
//! The correction of the base model is a vector of weights `w` with a covariance matrix `P`. A sample whose score
//! depends on the weights through the gradient `h` moves them along `P·h`, in proportion to its error, and reduces
//! the covariance in that direction:
//!
//! ```text
//! S = noise + hᵀ·P·h      w −= error · P·h / S      P −= P·h·(P·h)ᵀ / S
//! ```
//!
//! Two things are added. A share of the prior covariance returns at each update (forgetting), so the covariance neither
//! vanishes nor exceeds the prior. And an outlier, a label further from the prediction than a number of standard
//! deviations, is treated as a noisier label: the variance of its noise grows with the cube of its distance. The further
//! away a label is, the less it therefore moves the weights, so that many wrong labels far from the others do not add up.

use super::LearnerOptions;
use super::state::{StateReader, StateWriter, damaged};
use super::{LearnerError, SampleRefusal};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct KalmanFilter {
    weights: Vec<f64>,
    /// Symmetric, row by row.
    covariance: Vec<f64>,
}

/// One sample as the filter sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation<'a> {
    pub(super) coordinates: &'a [f64],
    /// Derivative of the score by the points before the score transform.
    pub(super) slope: f64,
    /// The predicted score minus the label.
    pub(super) error: f64,
    /// Factor on the variance of the label noise; 1 for a new sample.
    pub(super) noise_factor: f64,
    /// The share of the prior covariance that returns.
    pub(super) forgetting: f64,
}

/// Maximum length of one step, as a multiple of the prior standard deviation.
const MAX_STEP: f64 = 2.0;
/// Power of the distance with which the variance of an outlier's noise grows. Above 2, the pull of an outlier decreases with
/// its distance.
const OUTLIER_POWER: i32 = 3;
/// Maximum length of the weight vector, as a multiple of the prior standard deviation.
const MAX_LENGTH: f64 = 50.0;

impl KalmanFilter {
    /// Zero weights with the prior covariance.
    pub(super) fn new(rank: usize, options: &LearnerOptions) -> Self {
        let mut covariance = vec![0.0; rank * rank];
        for index in 0..rank {
            covariance[index * rank + index] = options.prior * options.prior;
        }
        Self { weights: vec![0.0; rank], covariance }
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Applies an observation. If the result would not be finite, nothing changes.
    pub(super) fn update(
        &mut self,
        observation: &Observation<'_>,
        options: &LearnerOptions,
    ) -> Result<(), SampleRefusal> {
        let rank = self.weights.len();
        let error = observation.error;
        let gradient: Vec<f64> =
            observation.coordinates.iter().map(|value| observation.slope * value).collect();
        // P·h: the covariance of the weights with the predicted score.
        let cross_covariance: Vec<f64> =
            self.covariance.chunks_exact(rank).map(|row| dot(row, &gradient)).collect();
        // Rounding can make the variance of a well-known direction slightly negative.
        let prediction_variance = dot(&gradient, &cross_covariance).max(0.0);
        let label_variance = observation.noise_factor * options.label_noise * options.label_noise;
        let outlier_factor =
            error.abs() / (label_variance + prediction_variance).sqrt() / options.outlier_threshold;
        let innovation_variance =
            label_variance * outlier_factor.max(1.0).powi(OUTLIER_POWER) + prediction_variance;

        let length = error.abs() * dot(&cross_covariance, &cross_covariance).sqrt() / innovation_variance;
        let scale = (MAX_STEP * options.prior / length).min(1.0);
        let mut updated: Vec<f64> = self
            .weights
            .iter()
            .zip(&cross_covariance)
            .map(|(weight, covariance)| weight - scale * error * covariance / innovation_variance)
            .collect();
        let length = dot(&updated, &updated).sqrt();
        let scale = (MAX_LENGTH * options.prior / length).min(1.0);
        for weight in &mut updated {
            *weight *= scale;
        }

        let largest = cross_covariance.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let finite = updated.iter().all(|weight| weight.is_finite())
            && (largest * largest / innovation_variance).is_finite();
        if !finite {
            return Err(SampleRefusal::Diverged);
        }
        self.weights = updated;
        self.reduce_covariance(&cross_covariance, innovation_variance, observation.forgetting, options);
        Ok(())
    }

    /// Computes each element above the diagonal once and mirrors it, so that the matrix stays exactly symmetric.
    fn reduce_covariance(
        &mut self,
        cross_covariance: &[f64],
        innovation_variance: f64,
        forgetting: f64,
        options: &LearnerOptions,
    ) {
        let rank = self.weights.len();
        let kept = 1.0 - forgetting;
        for i in 0..rank {
            let gain = cross_covariance[i] / innovation_variance;
            for (j, covariance) in cross_covariance.iter().enumerate().skip(i) {
                let mut value = kept * (self.covariance[i * rank + j] - gain * covariance);
                if i == j {
                    value = value.max(0.0) + forgetting * (options.prior * options.prior);
                }
                self.covariance[i * rank + j] = value;
                self.covariance[j * rank + i] = value;
            }
        }
    }

    pub(super) fn write(&self, writer: &mut StateWriter) {
        writer.count(self.weights.len());
        writer.numbers(&self.weights);
        writer.numbers(&self.covariance);
    }

    pub(super) fn read(rank: usize, reader: &mut StateReader<'_>) -> Result<Self, LearnerError> {
        if reader.unsigned()? != rank as u64 {
            return Err(damaged("its number of weights is not that of the base model"));
        }
        Ok(Self {
            weights: bounded(reader.numbers(rank)?)?,
            covariance: bounded(reader.numbers(rank * rank)?)?,
        })
    }
}

/// Rejects saved numbers that are larger than a learner can produce.
pub(super) fn bounded(numbers: Vec<f64>) -> Result<Vec<f64>, LearnerError> {
    const MAX: f64 = 1e12;
    let fit = numbers.iter().all(|number| number.abs() <= MAX);
    if fit { Ok(numbers) } else { Err(damaged("a weight or covariance is implausibly large")) }
}

/// The scalar product.
pub(super) fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn observation(coordinates: &[f64], error: f64) -> Observation<'_> {
        Observation { coordinates, slope: 1.0, error, noise_factor: 1.0, forgetting: 0.0 }
    }

    fn options() -> LearnerOptions {
        LearnerOptions { label_noise: 10.0, prior: 20.0, ..LearnerOptions::default() }
    }

    #[test]
    fn the_first_update_follows_from_prior_and_noise() {
        let mut filter = KalmanFilter::new(2, &options());
        filter.update(&observation(&[1.0, 0.0], 10.0), &options()).unwrap();
        // The weight takes 400 / (100 + 400) of the error; the variance that remains is 400 - 400² / 500.
        assert!((filter.weights[0] + 8.0).abs() < 1e-12);
        assert!((filter.covariance[0] - 80.0).abs() < 1e-12);
        assert_eq!((filter.weights[1], filter.covariance[3]), (0.0, 400.0));
    }

    #[test]
    fn many_labels_are_averaged() {
        let mut filter = KalmanFilter::new(1, &options());
        for index in 0..1000 {
            let label = if index % 2 == 0 { 12.0 } else { 8.0 };
            let error = filter.weights[0] - label;
            filter.update(&observation(&[1.0], error), &options()).unwrap();
        }
        assert!((filter.weights[0] - 10.0).abs() < 0.1, "{}", filter.weights[0]);
    }

    #[test]
    fn forgetting_lets_the_weights_follow_labels_that_change() {
        let distance_after = |forgetting: f64| {
            let mut filter = KalmanFilter::new(1, &options());
            for label in std::iter::repeat_n(0.0, 5000).chain(std::iter::repeat_n(15.0, 100)) {
                let error = filter.weights[0] - label;
                filter.update(&Observation { forgetting, ..observation(&[1.0], error) }, &options()).unwrap();
            }
            (filter.weights[0] - 15.0).abs()
        };
        assert!(distance_after(0.0) > 13.0, "{}", distance_after(0.0));
        assert!(distance_after(5e-4) < 2.0, "{}", distance_after(5e-4));
    }

    #[test]
    fn the_covariance_never_exceeds_the_prior() {
        let mut filter = KalmanFilter::new(3, &options());
        for index in 0..10_000_u32 {
            let coordinates = [f64::from(index % 3), f64::from(index % 2), 0.0];
            filter
                .update(&Observation { forgetting: 0.01, ..observation(&coordinates, 5.0) }, &options())
                .unwrap();
        }
        assert!(
            (0..3).all(|at| (0.0..=400.0 + 1e-9).contains(&filter.covariance[at * 4])),
            "{:?}",
            filter.covariance
        );
        assert!(
            (filter.covariance[8] - 400.0).abs() < 1e-6,
            "a direction without samples keeps its prior variance"
        );
    }

    #[test]
    fn an_implausible_label_moves_the_weights_hardly_more_than_a_surprising_one() {
        let moved = |error: f64| {
            let mut filter = KalmanFilter::new(1, &options());
            (0..50).for_each(|_| filter.update(&observation(&[1.0], 0.0), &options()).unwrap());
            filter.update(&observation(&[1.0], error), &options()).unwrap();
            filter.weights[0].abs()
        };
        assert!(moved(100.0) < 1.2 * moved(20.0), "{} {}", moved(100.0), moved(20.0));
        assert!(moved(20.0) > 3.0 * moved(5.0));
    }

    #[test]
    fn steps_and_weights_are_bounded() {
        let wild = LearnerOptions { label_noise: 1e-3, outlier_threshold: 1e9, ..options() };
        let mut filter = KalmanFilter::new(2, &wild);
        filter.update(&observation(&[1e-6, 0.0], 1e9), &wild).unwrap();
        assert!(dot(filter.weights(), filter.weights()).sqrt() <= 40.0 + 1e-9);
        for _ in 0..100_000 {
            filter.update(&Observation { forgetting: 0.5, ..observation(&[1e-6, 0.0], 1e9) }, &wild).unwrap();
        }
        assert!(dot(filter.weights(), filter.weights()).sqrt() <= 1000.0 + 1e-6);
    }

    #[rstest]
    #[case::infinite_error(&[1.0, 1.0], f64::INFINITY)]
    #[case::error_that_is_not_a_number(&[1.0, 1.0], f64::NAN)]
    #[case::infinite_sample(&[f64::INFINITY, 1.0], 1.0)]
    #[case::sample_that_overflows(&[1e200, 1.0], 1.0)]
    fn an_update_that_is_not_finite_changes_nothing(#[case] coordinates: &[f64], #[case] error: f64) {
        let mut filter = KalmanFilter::new(2, &options());
        filter.update(&observation(&[0.3, 1.0], 7.0), &options()).unwrap();
        let before = filter.clone();
        assert_eq!(filter.update(&observation(coordinates, error), &options()), Err(SampleRefusal::Diverged));
        assert_eq!(filter, before);
    }

    #[test]
    fn saved_weights_that_no_learner_produces_are_damage() {
        let mut filter = KalmanFilter::new(2, &options());
        let read = |filter: &KalmanFilter| {
            let mut writer = StateWriter::new();
            filter.write(&mut writer);
            let state = writer.finish();
            KalmanFilter::read(2, &mut StateReader::new(&state).unwrap())
        };
        assert_eq!(read(&filter).unwrap(), filter);
        filter.weights[1] = 1e300;
        assert!(matches!(read(&filter), Err(LearnerError::Damaged { .. })));
    }

    #[test]
    fn a_flat_transform_teaches_nothing() {
        let mut filter = KalmanFilter::new(1, &options());
        let before = filter.clone();
        filter.update(&Observation { slope: 0.0, ..observation(&[1.0], 30.0) }, &options()).unwrap();
        assert_eq!(filter, before);
    }
}
