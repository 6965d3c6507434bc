//! From integer sums to features, in the order and precisions of libvmaf.

use super::AdmOptions;
use super::csf::Weights;
use super::scale::ScaleSums;
use super::shifts::ScaleShifts;

/// Numerator and denominator of one scale.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdmScale {
    pub numerator: f64,
    pub denominator: f64,
}

impl AdmScale {
    /// `integer_adm_scale0` to `integer_adm_scale3`.
    pub fn score(&self) -> f64 {
        self.numerator / self.denominator
    }
}

/// What libvmaf emits for a pair of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmScores {
    /// `VMAF_integer_feature_adm2_score`
    pub adm2: f64,
    /// `VMAF_integer_feature_adm3_score`, unless AIM is skipped.
    pub adm3: Option<f64>,
    /// `VMAF_integer_feature_aim_score`, unless it is skipped.
    pub aim: Option<f64>,
    /// `integer_adm_num`
    pub numerator: f64,
    /// `integer_adm_den`
    pub denominator: f64,
    pub scales: [AdmScale; 4],
}

const CUBE_ROOT: f32 = 1.0 / 3.0;

/// A band's sum gets this added after its cube root.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // The precisions of libvmaf.
fn noise([columns, rows]: [usize; 2], weight: f64) -> f32 {
    (((columns * rows) as f64 * weight) as f32).powf(CUBE_ROOT)
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // The precisions of libvmaf.
pub(super) fn denominator(
    sums: [u64; 3],
    shifts: &ScaleShifts,
    weights: Weights,
    scored: [usize; 2],
    noise_weight: f64,
) -> f32 {
    let noise = noise(scored, noise_weight);
    let [horizontal, vertical, diagonal] = [0, 1, 2].map(|band| {
        let sum = sums[band] as f64 / 2_f64.powi(shifts.denominator);
        let weighted = sum * f64::from(weights.bands()[band]).powf(3.0);
        (weighted as f32).powf(CUBE_ROOT) + noise
    });
    horizontal + vertical + diagonal
}

/// `single_precision` is how libvmaf divides at scales 1 to 3.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // The precisions of libvmaf.
pub(super) fn numerator(
    sums: [u64; 3],
    shifts: &ScaleShifts,
    single_precision: bool,
    scored: [usize; 2],
    noise_weight: f64,
) -> f32 {
    let noise = noise(scored, noise_weight);
    let [horizontal, vertical, diagonal] = [0, 1, 2].map(|band| {
        let shift = shifts.numerator[band];
        let sum = if single_precision {
            sums[band] as f32 / 2_f32.powi(shift)
        } else {
            (sums[band] as f64 / 2_f64.powi(shift)) as f32
        };
        sum.powf(CUBE_ROOT) + noise
    });
    horizontal + vertical + diagonal
}

/// One scale's parts in single precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScaleParts {
    pub(super) numerator: f32,
    pub(super) denominator: f32,
    pub(super) added: f32,
}

impl ScaleParts {
    pub(super) fn new(
        sums: &ScaleSums,
        shifts: &ScaleShifts,
        weights: Weights,
        single_precision: bool,
        scored: [usize; 2],
        options: &AdmOptions,
    ) -> Self {
        Self {
            numerator: numerator(sums.restored, shifts, single_precision, scored, options.noise_weight),
            denominator: denominator(sums.reference, shifts, weights, scored, options.noise_weight),
            added: if options.skip_aim {
                0.0
            } else {
                numerator(sums.added, shifts, single_precision, scored, 0.0)
            },
        }
    }
}

pub(super) fn scores(parts: [ScaleParts; 4], size: [usize; 2], options: &AdmOptions) -> AdmScores {
    #[allow(clippy::cast_precision_loss)] // Exact for pictures.
    let limit = 1e-10 * (size[0] * size[1]) as f64 / (1920.0 * 1080.0);
    let sum =
        |part: fn(&ScaleParts) -> f32| parts.iter().fold(0.0, |sum, scale| sum + f64::from(part(scale)));
    let or_zero = |sum: f64| if sum < limit { 0.0 } else { sum };
    let numerator = or_zero(sum(|scale| scale.numerator));
    let denominator = or_zero(sum(|scale| scale.denominator));
    // Without noise a flat reference has no denominator. libvmaf then leaves AIM uninitialised.
    let (adm2, aim) = if denominator == 0.0 {
        (1.0, 0.0)
    } else {
        (numerator / denominator, sum(|scale| scale.added) / denominator)
    };
    let weight = options.dlm_weight;
    let adm3 = adm2 * weight + (1.0 - aim) * (1.0 - weight);
    let adm3 = if adm3 > options.min_value { adm3 } else { options.min_value };
    AdmScores {
        adm2,
        adm3: (!options.skip_aim).then_some(adm3),
        aim: (!options.skip_aim).then_some(aim),
        numerator,
        denominator,
        scales: parts.map(|scale| AdmScale {
            numerator: scale.numerator.into(),
            denominator: scale.denominator.into(),
        }),
    }
}
