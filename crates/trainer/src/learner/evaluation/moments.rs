//! Means and central second moments of predictions and labels, by Welford's recurrence: numerically stable over any
//! number of samples.

use super::QualityMetrics;
use crate::learner::LearnerError;
use crate::learner::state::{StateReader, StateWriter};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunningMoments {
    pub(super) count: u64,
    prediction_mean: f64,
    label_mean: f64,
    /// Sum of squared deviations from the mean.
    prediction_m2: f64,
    /// Sum of squared deviations from the mean.
    label_m2: f64,
    /// Sum of products of both deviations.
    co_moment: f64,
    squared_error: f64,
}

impl RunningMoments {
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 samples")]
    pub(super) fn add(&mut self, prediction: f64, label: f64) {
        self.count += 1;
        let count = self.count as f64;
        let prediction_delta = prediction - self.prediction_mean;
        let label_delta = label - self.label_mean;
        self.prediction_mean += prediction_delta / count;
        self.label_mean += label_delta / count;
        self.prediction_m2 += prediction_delta * (prediction - self.prediction_mean);
        self.label_m2 += label_delta * (label - self.label_mean);
        self.co_moment += prediction_delta * (label - self.label_mean);
        self.squared_error += (prediction - label) * (prediction - label);
    }

    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 samples")]
    pub(super) fn metrics(&self, srocc: Option<f64>) -> QualityMetrics {
        let rmse = if self.count == 0 { 0.0 } else { (self.squared_error / self.count as f64).sqrt() };
        QualityMetrics { count: self.count, rmse, plcc: self.correlation(), srocc }
    }

    /// The Pearson correlation, if both predictions and labels vary.
    pub(super) fn correlation(&self) -> Option<f64> {
        let scale = (self.prediction_m2 * self.label_m2).sqrt();
        (scale > 0.0).then(|| (self.co_moment / scale).clamp(-1.0, 1.0))
    }

    pub(super) fn write(&self, writer: &mut StateWriter) {
        writer.unsigned(self.count);
        writer.numbers(&[self.prediction_mean, self.label_mean, self.prediction_m2, self.label_m2]);
        writer.numbers(&[self.co_moment, self.squared_error]);
    }

    pub(super) fn read(reader: &mut StateReader<'_>) -> Result<Self, LearnerError> {
        Ok(Self {
            count: reader.counter()?,
            prediction_mean: reader.number()?,
            label_mean: reader.number()?,
            prediction_m2: reader.number()?,
            label_m2: reader.number()?,
            co_moment: reader.number()?,
            squared_error: reader.number()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rmse_and_correlation_match_a_manual_calculation() {
        let mut moments = RunningMoments::default();
        for (prediction, label) in [(1.0, 2.0), (2.0, 1.0), (4.0, 5.0)] {
            moments.add(prediction, label);
        }
        let metrics = moments.metrics(None);
        assert!((metrics.rmse - 1.0).abs() < 1e-15);
        // Squared deviations from the means sum to 14/3 and 26/3, their products to 16/3.
        assert!((metrics.plcc.unwrap() - 16.0 / (14.0_f64 * 26.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn without_variance_there_is_no_correlation() {
        let mut moments = RunningMoments::default();
        assert_eq!(moments.metrics(None), QualityMetrics::default());
        moments.add(50.0, 60.0);
        moments.add(50.0, 70.0);
        assert_eq!(moments.metrics(None).plcc, None);
    }
}
