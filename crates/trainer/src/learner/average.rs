//! The exponential moving average of the weights, with which scores are predicted and models exported: it varies less
//! from sample to sample than the filter's own weights.

use super::LearnerError;
use super::filter::bounded;
use super::state::{StateReader, StateWriter};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct WeightAverage {
    weights: Vec<f64>,
    steps: u64,
}

impl WeightAverage {
    /// Starts at zero, which is the base model without a correction.
    pub(super) fn new(rank: usize) -> Self {
        Self { weights: vec![0.0; rank], steps: 0 }
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Adds the weights after an update. `ema` is the decay; the first steps use a smaller one, because the initial
    /// zeros would otherwise bias the average for a long time.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 steps")]
    pub(super) fn add(&mut self, weights: &[f64], ema: f64) {
        let steps = self.steps as f64;
        let decay = ema.min((1.0 + steps) / (10.0 + steps));
        for (average, weight) in self.weights.iter_mut().zip(weights) {
            *average = decay * *average + (1.0 - decay) * weight;
        }
        self.steps += 1;
    }

    pub(super) fn write(&self, writer: &mut StateWriter) {
        writer.unsigned(self.steps);
        writer.numbers(&self.weights);
    }

    pub(super) fn read(rank: usize, reader: &mut StateReader<'_>) -> Result<Self, LearnerError> {
        Ok(Self { steps: reader.counter()?, weights: bounded(reader.numbers(rank)?)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decay_of_zero_keeps_the_last_weights_only() {
        let mut average = WeightAverage::new(1);
        for weight in [3.0, 5.0] {
            average.add(&[weight], 0.0);
            assert_eq!(average.weights(), [weight]);
        }
    }

    #[test]
    fn the_initial_zeros_fade_quickly_and_a_late_step_counts_little() {
        let mut average = WeightAverage::new(1);
        (0..50).for_each(|_| average.add(&[10.0], 0.99));
        assert!(average.weights()[0] > 9.9, "{average:?}");
        (0..5000).for_each(|_| average.add(&[10.0], 0.99));
        average.add(&[20.0], 0.99);
        assert!((average.weights()[0] - 10.1).abs() < 1e-9, "{average:?}");
    }
}
