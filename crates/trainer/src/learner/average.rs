//! The running average of the weights: what is told and exported. It moves less than the last step does.

use super::LearnerError;
use super::filter::bounded;
use super::state::{Reader, Writer};

/// An exponential moving average.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Average {
    weights: Vec<f64>,
    steps: u64,
}

impl Average {
    /// Of nothing: zero, which is the base model.
    pub(super) fn new(rank: usize) -> Self {
        Self { weights: vec![0.0; rank], steps: 0 }
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Takes in the weights after a step. `ema` of the average stays; at the start less, or the beginning would be seen
    /// in it for a long time.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 steps")]
    pub(super) fn add(&mut self, weights: &[f64], ema: f64) {
        let steps = self.steps as f64;
        let kept = ema.min((1.0 + steps) / (10.0 + steps));
        for (average, weight) in self.weights.iter_mut().zip(weights) {
            *average = kept * *average + (1.0 - kept) * weight;
        }
        self.steps += 1;
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.unsigned(self.steps);
        writer.numbers(&self.weights);
    }

    pub(super) fn read(rank: usize, reader: &mut Reader<'_>) -> Result<Self, LearnerError> {
        Ok(Self { steps: reader.tally()?, weights: bounded(reader.numbers(rank)?)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_it_is_the_last_step() {
        let mut average = Average::new(1);
        for weight in [3.0, 5.0] {
            average.add(&[weight], 0.0);
            assert_eq!(average.weights(), [weight]);
        }
    }

    #[test]
    fn the_beginning_fades_quickly_and_a_late_step_counts_little() {
        let mut average = Average::new(1);
        (0..50).for_each(|_| average.add(&[10.0], 0.99));
        assert!(average.weights()[0] > 9.9, "{average:?}");
        (0..5000).for_each(|_| average.add(&[10.0], 0.99));
        average.add(&[20.0], 0.99);
        assert!((average.weights()[0] - 10.1).abs() < 1e-9, "{average:?}");
    }
}
