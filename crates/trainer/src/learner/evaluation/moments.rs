//! Running sums that stay exact over any number of samples: means and squares around them, by Welford's recurrence.

use super::Metrics;
use crate::learner::LearnerError;
use crate::learner::state::{Reader, Writer};

/// Running sums over predictions and labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Moments {
    pub(super) count: u64,
    prediction: f64,
    label: f64,
    predictions: f64,
    labels: f64,
    both: f64,
    errors: f64,
}

impl Moments {
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 samples")]
    pub(super) fn add(&mut self, prediction: f64, label: f64) {
        self.count += 1;
        let count = self.count as f64;
        let (from_prediction, from_label) = (prediction - self.prediction, label - self.label);
        self.prediction += from_prediction / count;
        self.label += from_label / count;
        self.predictions += from_prediction * (prediction - self.prediction);
        self.labels += from_label * (label - self.label);
        self.both += from_prediction * (label - self.label);
        self.errors += (prediction - label) * (prediction - label);
    }

    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 samples")]
    pub(super) fn metrics(&self, srocc: Option<f64>) -> Metrics {
        let rmse = if self.count == 0 { 0.0 } else { (self.errors / self.count as f64).sqrt() };
        Metrics { count: self.count, rmse, plcc: self.correlation(), srocc }
    }

    /// Pearson's correlation, if both sides vary.
    pub(super) fn correlation(&self) -> Option<f64> {
        let spread = (self.predictions * self.labels).sqrt();
        (spread > 0.0).then(|| (self.both / spread).clamp(-1.0, 1.0))
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.unsigned(self.count);
        let Self { count: _, prediction, label, predictions, labels, both, errors } = self;
        writer.numbers(&[*prediction, *label, *predictions, *labels, *both, *errors]);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, LearnerError> {
        Ok(Self {
            count: reader.tally()?,
            prediction: reader.number()?,
            label: reader.number()?,
            predictions: reader.number()?,
            labels: reader.number()?,
            both: reader.number()?,
            errors: reader.number()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_what_a_calculator_says() {
        let mut moments = Moments::default();
        for (prediction, label) in [(1.0, 2.0), (2.0, 1.0), (4.0, 5.0)] {
            moments.add(prediction, label);
        }
        let metrics = moments.metrics(None);
        assert!((metrics.rmse - 1.0).abs() < 1e-15);
        // Squares around the means: 14/3 and 26/3, products: 16/3.
        assert!((metrics.plcc.unwrap() - 16.0 / (14.0_f64 * 26.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn without_spread_there_is_no_correlation() {
        let mut moments = Moments::default();
        assert_eq!(moments.metrics(None), Metrics::default());
        moments.add(50.0, 60.0);
        moments.add(50.0, 70.0);
        assert_eq!(moments.metrics(None).plcc, None);
    }
}
