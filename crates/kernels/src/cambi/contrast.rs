//! Which steps of luma count as banding, how much, and the response to their counts.

use super::luminance::{Eotf, largest_visible, smallest_of_luminance};

/// The weight of a step of luma, by its size less one.
const WEIGHTS: [u8; 32] =
    [1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9];

/// Samples of 10 bits: 16-bit input rounds up to 1024.
const SAMPLES: u16 = 1025;

/// The steps of luma that are looked for around a sample.
#[derive(Clone, Debug)]
pub(super) struct Contrast {
    /// Steps are from 1 to this.
    steps: u16,
    /// `steps` weights for each sample, 0 where the step is not visible.
    weights: Vec<i16>,
    /// Samples with a visible step; empty if there are none.
    first: u16,
    end: u16,
    reciprocals: Vec<f32>,
}

impl Contrast {
    /// `None` if no sample reaches the luminance threshold.
    pub(super) fn new(
        eotf: Eotf,
        max_log_contrast: u32,
        tvi_threshold: f64,
        luminance_threshold: f64,
        largest_count: usize,
    ) -> Option<Self> {
        let steps = 1_u16 << max_log_contrast;
        let darkest = i32::from(smallest_of_luminance(eotf, luminance_threshold)?);
        let mut weights = vec![0; usize::from(SAMPLES) * usize::from(steps)];
        for (step, weight) in (1..=steps).zip(WEIGHTS) {
            let brightest = largest_visible(eotf, step, tvi_threshold);
            for sample in 0..SAMPLES {
                // libvmaf compares the upper end of the step shifted by the number of steps.
                if sample <= brightest && i32::from(sample + steps + step) > darkest {
                    weights[usize::from(sample * steps + step - 1)] = i16::from(weight);
                }
            }
        }
        let visible = |sample: &u16| {
            let start = usize::from(sample * steps);
            weights[start..start + usize::from(steps)].iter().any(|&weight| weight > 0)
        };
        let first = (0..SAMPLES).find(visible).unwrap_or(0);
        let end = (0..SAMPLES).rev().find(visible).map_or(0, |last| last + 1);
        let reciprocals = (0..=largest_count).map(reciprocal).collect();
        Some(Self { steps, weights, first, end, reciprocals })
    }

    pub(super) fn steps(&self) -> u16 {
        self.steps
    }

    /// The samples with a visible step.
    pub(super) fn visible(&self) -> std::ops::Range<u16> {
        self.first..self.end
    }

    /// The weights of the steps around a sample.
    pub(super) fn weights(&self, sample: u16) -> &[i16] {
        let steps = usize::from(self.steps);
        &self.weights[usize::from(sample) * steps..][..steps]
    }

    /// Reciprocals of counts.
    pub(super) fn reciprocals(&self) -> &[f32] {
        &self.reciprocals
    }

    /// The response to a step: `same` pixels with the sample, `other` pixels a step away.
    #[allow(clippy::cast_precision_loss)] // As in libvmaf.
    pub(super) fn response(&self, weight: i16, same: u16, other: u16) -> f32 {
        let product = i32::from(weight) * i32::from(same) * i32::from(other);
        product as f32 * self.reciprocals[usize::from(same) + usize::from(other)]
    }
}

/// libvmaf's table has nine decimal digits, which differ from the quotient in 42 places below 4226.
#[allow(clippy::cast_precision_loss)] // Counts are small.
fn reciprocal(count: usize) -> f32 {
    if count == 0 {
        return 0.0;
    }
    let quotient = 1.0 / count as f64;
    format!("{quotient:.8e}").parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_have_nine_decimal_digits() {
        // The quotients are 0.012195121496915817 and 0.004098360426723957.
        assert_eq!([82, 244].map(|count| reciprocal(count).to_bits()), [0x3c47_ce0d, 0x3b86_4b8b]);
        let rounded = (1..4226_u16)
            .filter(|&count| reciprocal(count.into()).to_bits() != (1.0 / f32::from(count)).to_bits());
        assert_eq!(rounded.count(), 42);
    }

    #[test]
    fn only_dark_and_visible_steps_have_a_weight() {
        let contrast = Contrast::new(Eotf::Bt1886, 2, 0.019, 0.06, 289).unwrap();
        assert_eq!(contrast.visible(), 71..560);
        assert_eq!(contrast.weights(100), [1, 2, 3, 4]);
        assert_eq!(contrast.weights(70), [0; 4]);
        assert_eq!(contrast.weights(559), [0, 0, 0, 4]);
    }
}
