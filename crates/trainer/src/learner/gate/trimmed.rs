//! The comparison of two models without the implausible samples.
//!
//! RMSE is that of the two thirds of the samples that each model predicts best, so each model may explain away a third. Labels
//! that are wrong lie far from a good model, and explaining them away costs it nothing; a model that has learned them must
//! give up correct ones. SROCC needs the same samples for both models: those with the smallest errors of both together.

use super::super::evaluation::{ModelComparison, SamplePredictions};

/// Two thirds, rounded up.
const fn kept(count: usize) -> usize {
    (count * 2).div_ceil(3)
}

pub(super) fn compare(samples: &[SamplePredictions]) -> ModelComparison {
    let both = |sample: &SamplePredictions| {
        (sample.model - sample.label).powi(2) + (sample.base - sample.label).powi(2)
    };
    let mut plausible = samples.to_vec();
    plausible.sort_by(|a, b| both(a).total_cmp(&both(b)));
    plausible.truncate(kept(samples.len()));
    let mut compared = ModelComparison::of(&plausible);
    compared.model.rmse = rmse(samples, |sample| sample.model);
    compared.base.rmse = rmse(samples, |sample| sample.base);
    compared
}

#[expect(clippy::cast_precision_loss, reason = "a million samples at most")]
fn rmse(samples: &[SamplePredictions], prediction: fn(&SamplePredictions) -> f64) -> f64 {
    let mut squares: Vec<f64> =
        samples.iter().map(|sample| (prediction(sample) - sample.label).powi(2)).collect();
    squares.sort_by(f64::total_cmp);
    squares.truncate(kept(samples.len()));
    (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `wrong` of 90 labels are the opposite.
    fn samples(wrong: u32, model_error: f64, base_error: f64) -> Vec<SamplePredictions> {
        let sample = |index: u32| {
            let truth = f64::from(index * 37 % 90) + 5.0;
            let sign = if index.is_multiple_of(2) { 1.0 } else { -1.0 };
            let label = if index < wrong { 100.0 - truth } else { truth };
            SamplePredictions { model: truth + sign * model_error, base: truth + sign * base_error, label }
        };
        (0..90).map(sample).collect()
    }

    #[test]
    fn a_third_of_wrong_labels_hardly_changes_the_comparison() {
        let ratio = |wrong| {
            let compared = compare(&samples(wrong, 6.0, 12.0));
            assert!(compared.model.srocc > Some(0.9), "{compared:?}");
            compared.model.rmse / compared.base.rmse
        };
        assert!((ratio(0) - 0.5).abs() < 1e-9);
        assert!((ratio(30) - 0.5).abs() < 0.1, "{}", ratio(30));
    }

    #[test]
    fn a_model_that_agrees_with_the_wrong_third_is_the_worse_one() {
        let mut all = samples(30, 12.0, 8.0);
        for sample in &mut all[..30] {
            sample.model = sample.label;
        }
        let plain = ModelComparison::of(&all);
        assert!(plain.model.rmse < plain.base.rmse, "{plain:?}");
        // The base model is better on two thirds, and the model explains the wrong third only.
        let mut learned_wrong = samples(30, 30.0, 8.0);
        for sample in &mut learned_wrong[..30] {
            sample.model = f64::midpoint(sample.label, sample.base);
        }
        let compared = compare(&learned_wrong);
        assert!(compared.model.rmse > compared.base.rmse, "{compared:?}");
    }
}
