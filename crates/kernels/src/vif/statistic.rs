//! What one sample adds to the sums of its scale.

use super::VifSums;
use super::log_table::LogTable;

/// The variance of the noise that human vision has.
pub(super) const NOISE: i32 = 1 << 17;

/// Keeps the gain of flat samples finite.
pub(super) const EPSILON: f64 = 65536.0 * 1.0e-10;

/// The limit of the gain of the distorted picture over the reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct GainLimit(pub f64);

/// What makes sums of moments.
#[derive(Debug)]
pub(super) struct Scorer {
    pub table: LogTable,
    pub limit: GainLimit,
}

/// Moments under the window around one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    /// Means times 2^16.
    pub means: [u32; 2],
    /// Means of the squares of the reference and of the distorted picture, and of their product.
    pub products: [u32; 3],
}

impl Moments {
    /// The variances of the reference and of the distorted picture, and their covariance.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    fn variances(&self) -> [i32; 3] {
        let [reference, distorted] = self.means.map(u64::from);
        let product = |first: u64, second: u64| ((first * second + (1 << 31)) >> 32) as u32;
        let [square, distorted_square, mixed] = self.products;
        [
            square.wrapping_sub(product(reference, reference)) as i32,
            (distorted_square.wrapping_sub(product(distorted, distorted)) as i32).max(0),
            mixed.wrapping_sub(product(reference, distorted)) as i32,
        ]
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn add_to(&self, sums: &mut VifSums, scorer: &Scorer) {
        let Scorer { table, limit } = scorer;
        let [reference, distorted, covariance] = self.variances();
        if reference < NOISE {
            sums.num_non_log += i64::from(distorted);
            sums.den_non_log += 1;
            return;
        }
        let log = |value: i64| table.log(value as u64);
        sums.den_log += log(i64::from(reference) + i64::from(NOISE)) - 17 * 2048;
        if covariance <= 0 || distorted <= 0 {
            return;
        }
        let reference = f64::from(reference);
        let gain = f64::from(covariance) / (reference + EPSILON);
        // What the gain does not explain is noise that the distortion added. Both conversions round towards zero.
        let added = (f64::from(distorted) - gain * f64::from(covariance)) as i32;
        let noise = i64::from(added.max(0)) + i64::from(NOISE);
        let gain = gain.min(limit.0);
        let signal = (gain * gain * reference) as i64;
        sums.num_log += log(signal + noise) - log(noise);
    }
}
