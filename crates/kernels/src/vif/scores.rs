//! From sums to scores.

use std::ops::AddAssign;

use super::filter::SCALES;

/// Sums over the samples of one scale. Where the reference's variance is below that of the noise that human vision has, a
/// sample adds to the counts without logarithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VifSums {
    /// Logarithms are in units of 1/2048.
    pub num_log: i64,
    pub den_log: i64,
    pub num_non_log: i64,
    pub den_non_log: i64,
}

impl AddAssign for VifSums {
    fn add_assign(&mut self, other: Self) {
        self.num_log += other.num_log;
        self.den_log += other.den_log;
        self.num_non_log += other.num_non_log;
        self.den_non_log += other.den_non_log;
    }
}

impl VifSums {
    /// The order of operations is libvmaf's: other orders round differently.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    pub(super) fn scale(&self) -> VifScale {
        let non_log = self.den_non_log as f64;
        let num = self.num_log as f64 / 2048.0 + (non_log - (self.num_non_log as f64 / 16384.0) / 65025.0);
        let den = self.den_log as f64 / 2048.0 + non_log;
        VifScale { num: num as f32, den: den as f32 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VifScale {
    pub num: f32,
    pub den: f32,
}

impl VifScale {
    /// The feature `VMAF_integer_feature_vif_scaleN_score`.
    pub fn score(&self) -> f64 {
        f64::from(self.num / self.den)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VifScores {
    pub scales: [VifScale; SCALES],
}

impl VifScores {
    /// The feature `integer_vif_num`.
    pub fn num(&self) -> f64 {
        self.scales.iter().map(|scale| f64::from(scale.num)).sum()
    }

    /// The feature `integer_vif_den`.
    pub fn den(&self) -> f64 {
        self.scales.iter().map(|scale| f64::from(scale.den)).sum()
    }

    /// The feature `integer_vif`.
    pub fn score(&self) -> f64 {
        let den = self.den();
        if den == 0.0 { 1.0 } else { self.num() / den }
    }
}
