//! From a plane to its decimated details: scale, blur, keep one of 16 rows and columns, and subtract the local mean.

use super::dimensions::{DECIMATION, Dimensions};
use super::{Prescale, PrescaleMethod};
use crate::{Plane, PlaneSample};

/// Taps of the filter before decimation.
const BLUR_TAPS: usize = 9;
/// Taps of the local mean.
const MEAN_TAPS: usize = 3;

/// How one row or column of the scaled plane is made of two of the plane.
#[derive(Clone, Copy, Debug)]
struct Blend {
    first: usize,
    second: usize,
    /// The share of the second.
    share: f32,
}

/// The tables and buffers of the step.
#[derive(Clone, Debug)]
pub(super) struct Decimator {
    dimensions: Dimensions,
    method: PrescaleMethod,
    blur: [f32; BLUR_TAPS],
    mean: [f32; MEAN_TAPS],
    columns: Vec<Blend>,
    rows: Vec<Blend>,
    /// The rows of the plane that a scaled row is made of.
    above: Vec<f32>,
    below: Vec<f32>,
    scaled: Vec<f32>,
    /// The sum of a column of the filter.
    blurred: Vec<f32>,
    small: Vec<f32>,
    small_row: Vec<f32>,
}

impl Decimator {
    #[allow(clippy::cast_possible_truncation)] // As in libvmaf.
    pub(super) fn new(dimensions: Dimensions, prescale: Prescale) -> Self {
        let Dimensions { width, height, scaled_width, scaled_height, small_width, small_height, .. } =
            dimensions;
        let blends = |from, to| (0..to).map(|index| prescale.method.blend(index, from, to)).collect();
        Self {
            dimensions,
            method: prescale.method,
            blur: gaussian((4.0_f64.sqrt() * 9.0 / 5.0) as f32),
            mean: gaussian(3.0 / 5.0),
            columns: if dimensions.is_scaled() { blends(width, scaled_width) } else { Vec::new() },
            rows: if dimensions.is_scaled() { blends(height, scaled_height) } else { Vec::new() },
            above: vec![0.0; width],
            below: vec![0.0; width],
            scaled: vec![0.0; scaled_width],
            blurred: vec![0.0; scaled_width],
            small: vec![0.0; small_width * small_height],
            small_row: vec![0.0; small_width],
        }
    }

    /// Fills `details` with rows of `small_width` samples.
    #[inline(always)]
    pub(super) fn decimate<T: PlaneSample>(&mut self, plane: &Plane<'_, T>, depth: u32, details: &mut [f32]) {
        let Dimensions { scaled_width, scaled_height, small_width, small_height, .. } = self.dimensions;
        for y in 0..small_height {
            self.blurred.fill(0.0);
            for (tap, factor) in self.blur.into_iter().enumerate() {
                let row = mirrored(y * DECIMATION + tap, BLUR_TAPS / 2, scaled_height);
                self.scaled_row(plane, depth, row);
                for (sum, sample) in self.blurred.iter_mut().zip(&self.scaled) {
                    *sum += factor * sample;
                }
            }
            for (x, small) in self.small[y * small_width..][..small_width].iter_mut().enumerate() {
                let tap = |(tap, factor): (usize, &f32)| {
                    factor * self.blurred[mirrored(x * DECIMATION + tap, BLUR_TAPS / 2, scaled_width)]
                };
                *small = self.blur.iter().enumerate().map(tap).fold(0.0, |sum, product| sum + product);
            }
        }
        self.subtract_mean(details);
    }

    /// A row of the scaled plane.
    #[inline(always)]
    fn scaled_row<T: PlaneSample>(&mut self, plane: &Plane<'_, T>, depth: u32, row: usize) {
        let Some(&Blend { first, second, share: down }) = self.rows.get(row) else {
            return convert(plane.row(row), depth, &mut self.scaled);
        };
        convert(plane.row(first), depth, &mut self.above);
        match self.method {
            PrescaleMethod::Nearest => {
                for (scaled, column) in self.scaled.iter_mut().zip(&self.columns) {
                    *scaled = self.above[column.first];
                }
            }
            PrescaleMethod::Bilinear => {
                convert(plane.row(second), depth, &mut self.below);
                for (scaled, &Blend { first, second, share: right }) in
                    self.scaled.iter_mut().zip(&self.columns)
                {
                    *scaled = (1.0 - down) * (1.0 - right) * self.above[first]
                        + (1.0 - down) * right * self.above[second]
                        + down * (1.0 - right) * self.below[first]
                        + down * right * self.below[second];
                }
            }
        }
    }

    #[inline(always)]
    fn subtract_mean(&mut self, details: &mut [f32]) {
        let Dimensions { small_width: width, small_height: height, .. } = self.dimensions;
        for y in 0..height {
            self.small_row.fill(0.0);
            for (tap, factor) in self.mean.into_iter().enumerate() {
                let row = mirrored(y + tap, MEAN_TAPS / 2, height);
                for (sum, sample) in self.small_row.iter_mut().zip(&self.small[row * width..][..width]) {
                    *sum += factor * sample;
                }
            }
            for x in 0..width {
                let tap = |(tap, factor): (usize, &f32)| {
                    factor * self.small_row[mirrored(x + tap, MEAN_TAPS / 2, width)]
                };
                let mean = self.mean.iter().enumerate().map(tap).fold(0.0, |sum, product| sum + product);
                details[y * width + x] = self.small[y * width + x] - mean;
            }
        }
    }
}

/// Samples with the value of 8 bits, and grey as 0.
#[inline(always)]
#[allow(clippy::cast_precision_loss)] // At most 16 bits.
fn convert<T: PlaneSample>(row: &[T], depth: u32, converted: &mut [f32]) {
    // A power of two, so that its reciprocal is exact.
    let unit = 1.0 / f32::from(1_u16 << (depth - 8));
    for (converted, &sample) in converted.iter_mut().zip(row) {
        let sample: u32 = sample.into();
        *converted = sample as f32 * unit - 128.0;
    }
}

/// The index of the sample that is `half` before `index`, mirrored at both ends without repeating them.
#[inline(always)]
fn mirrored(index: usize, half: usize, length: usize) -> usize {
    let index = index.abs_diff(half);
    if index < length { index } else { 2 * length - index - 2 }
}

impl PrescaleMethod {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // As in libvmaf.
    fn blend(self, index: usize, from: usize, to: usize) -> Blend {
        let ratio = from as f32 / to as f32;
        match self {
            Self::Nearest => {
                let first = (index as f32 * ratio) as usize;
                Blend { first, second: first, share: 0.0 }
            }
            Self::Bilinear => {
                let position = ((index as f64 + 0.5) * f64::from(ratio) - 0.5) as f32;
                let last = (from - 1) as f32;
                let mirror = |position: f32| {
                    if position < 0.0 {
                        -position
                    } else if position > last {
                        2.0 * last - position
                    } else {
                        position
                    }
                };
                // Before the first sample, the share becomes negative.
                let first = mirror(position.floor());
                let second = mirror(position.ceil());
                Blend { first: first as usize, second: second as usize, share: position - first }
            }
        }
    }
}

/// A normalized Gaussian, with the roundings to single precision of libvmaf.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn gaussian<const TAPS: usize>(deviation: f32) -> [f32; TAPS] {
    let deviation = f64::from(deviation);
    let density = |tap: usize| {
        let distance = tap as f64 - (TAPS / 2) as f64;
        let numerator = (-0.5 * distance / deviation * distance / deviation).exp() as f32;
        numerator / (1.0 / (deviation * (2.0 * std::f64::consts::PI).sqrt())) as f32
    };
    let densities: [f32; TAPS] = std::array::from_fn(density);
    let sum = densities.iter().fold(0.0, |sum, density| sum + density);
    densities.map(|density| density / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_mirrored_without_repeating_the_ends() {
        let around: Vec<usize> = (0..9).map(|index| mirrored(index, 2, 5)).collect();
        assert_eq!(around, [2, 1, 0, 1, 2, 3, 4, 3, 2]);
    }

    #[test]
    fn filters_are_symmetric_and_sum_to_one() {
        let blur: [f32; 9] = gaussian(3.6);
        assert!((0..4).all(|tap| blur[tap].to_bits() == blur[8 - tap].to_bits()));
        assert!((blur.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}
