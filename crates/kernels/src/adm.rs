//! ADM, the detail loss metric, and AIM, the additive impairment metric, as libvmaf's integer extractor `adm` computes them.
//!
//! Both images go through four scales of a wavelet transform. At each scale the distorted coefficients are split into what is
//! left of the reference and what was added ([`scalar::decouple_fine`]). Weighted by the sensitivity of the eye, each part
//! masks the other; the cubes of what exceeds the masking threshold are summed and compared with those of the reference.
//!
//! All sums are integers and free of order, except that a row's sum is rounded before it is added to the total.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod contrast;
mod csf;
#[cfg(target_arch = "x86_64")]
mod decouple;
mod geometry;
mod kernels;
mod overflow;
mod scalar;
mod scale;
mod scores;
mod shifts;
#[cfg(test)]
mod tests;

pub use csf::ContrastSensitivity;
pub use overflow::MaskingOverflow;
pub use scores::{AdmScale, AdmScores};

use crate::sample::NamedPlane;
use crate::simd::{Simd, UnavailableInstructionSet};
use crate::{InstructionSet, Plane, PlaneSample};
use csf::Weights;
use geometry::{Axis, MIN_SIZE, SCALES};
use kernels::CoefficientSource;
use scale::{Approximation, Scale, ScaleSums};
use scores::ScaleParts;
use shifts::ScaleShifts;

/// Daubechies' filters of four taps.
const LOW_PASS: [i16; 4] = [15826, 27411, 7345, -4240];
const HIGH_PASS: [i16; 4] = [-4240, -7345, 27411, -15826];

/// The options of libvmaf's extractor that built-in models set, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmOptions {
    /// `adm_enhn_gain_limit`: how often an enhancement may exceed the reference. Whole numbers from 1 to 100; libvmaf's results
    /// for others depend on the instruction set.
    pub enhancement_gain_limit: u32,
    /// `adm_dlm_weight`: share of ADM in `adm3`, the rest is AIM's.
    pub dlm_weight: f64,
    /// `adm_noise_weight`
    pub noise_weight: f64,
    /// `adm_norm_view_dist`: distance from the display in multiples of its height.
    pub view_distance: f64,
    /// `adm_ref_display_height` in pixels. Times the distance at least 3240, as libvmaf requires.
    pub display_height: u32,
    /// `adm_csf_mode`
    pub contrast_sensitivity: ContrastSensitivity,
    /// `adm_min_val`: lower limit of `adm3`.
    pub min_value: f64,
    /// `adm_skip_aim`
    pub skip_aim: bool,
}

impl Default for AdmOptions {
    fn default() -> Self {
        Self {
            enhancement_gain_limit: 100,
            dlm_weight: 0.5,
            noise_weight: 0.031_25,
            view_distance: 3.0,
            display_height: 1080,
            contrast_sensitivity: ContrastSensitivity::Watson,
            min_value: 0.0,
            skip_aim: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmConfig {
    pub width: usize,
    pub height: usize,
    /// Bits of a sample: 8 to 16.
    pub depth: u32,
    pub options: AdmOptions,
    pub overflow: MaskingOverflow,
    pub instruction_set: InstructionSet,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmError {
    #[error(transparent)]
    InstructionSet(#[from] UnavailableInstructionSet),
    #[error("pictures of {width}x{height} are too small; both must be at least {MIN_SIZE}")]
    TooSmall { width: usize, height: usize },
    #[error("{0} bits per sample are not supported; use 8 to 16")]
    Depth(u32),
    #[error("an enhancement gain limit of {0} is not supported; use 1 to 100")]
    GainLimit(u32),
    #[error(
        "a display of {display_height} rows at {view_distance} heights is too close; their product must be at least 3240"
    )]
    TooClose { view_distance: f64, display_height: u32 },
    #[error(
        "no contrast sensitivity is known for a display of {display_height} rows at {view_distance} heights"
    )]
    UnknownDisplay { view_distance: f64, display_height: u32 },
    #[error("a plane of {width}x{height} was given instead of {expected_width}x{expected_height}")]
    Geometry { width: usize, height: usize, expected_width: usize, expected_height: usize },
    #[error("samples of {bytes} bytes were given for a depth of {depth} bits")]
    SampleSize { bytes: usize, depth: u32 },
}

/// The product of distance and height from which on scale 0 fits into 16 bits.
const MIN_RESOLUTION: f64 = 3.0 * 1080.0;

/// Measures pairs of pictures of one size. Owns all buffers.
#[derive(Clone, Debug)]
pub struct Adm {
    config: AdmConfig,
    simd: Simd,
    weights: [Weights; SCALES],
    fine: Scale<i16>,
    fine_approximations: [Approximation<i16>; 2],
    coarse: [Scale<i32>; SCALES - 1],
    coarse_approximations: [[Approximation<i32>; 2]; SCALES - 1],
}

impl Adm {
    pub fn new(config: &AdmConfig) -> Result<Self, AdmError> {
        let simd = Simd::new(config.instruction_set)?;
        let AdmConfig { width, height, depth, options, overflow, .. } = *config;
        let AdmOptions { view_distance, display_height, enhancement_gain_limit: gain, .. } = options;
        if width < MIN_SIZE || height < MIN_SIZE {
            return Err(AdmError::TooSmall { width, height });
        }
        if !(8..=16).contains(&depth) {
            return Err(AdmError::Depth(depth));
        }
        if !(1..=100).contains(&gain) {
            return Err(AdmError::GainLimit(gain));
        }
        let resolution = view_distance * f64::from(display_height);
        if resolution.is_nan() || resolution < MIN_RESOLUTION {
            return Err(AdmError::TooClose { view_distance, display_height });
        }
        let weights = options.contrast_sensitivity.weights(view_distance, display_height)?;
        let standard_watson = options.contrast_sensitivity == ContrastSensitivity::Watson
            && (resolution - MIN_RESOLUTION).abs() < 1e-8;
        let (columns, rows) = (Axis::scales(width), Axis::scales(height));
        let aim = !options.skip_aim;
        let fine = ScaleShifts::fine(&columns[0], &rows[0], weights[0], overflow, standard_watson);
        let coarse = |scale: usize| {
            let shifts = ScaleShifts::coarse(scale, &columns[scale], &rows[scale], weights[scale]);
            Scale::new(&columns[scale], &rows[scale], shifts, gain, aim)
        };
        let approximations =
            |scale: usize| [(); 2].map(|()| Approximation::new(&columns[scale], &rows[scale]));
        Ok(Self {
            config: *config,
            simd,
            weights,
            fine: Scale::new(&columns[0], &rows[0], fine, gain, aim),
            fine_approximations: [(); 2].map(|()| Approximation::new(&columns[0], &rows[0])),
            coarse: [coarse(1), coarse(2), coarse(3)],
            coarse_approximations: [approximations(1), approximations(2), approximations(3)],
        })
    }

    pub fn config(&self) -> &AdmConfig {
        &self.config
    }

    pub fn measure<T: PlaneSample>(
        &mut self,
        reference: &Plane<'_, T>,
        distorted: &Plane<'_, T>,
    ) -> Result<AdmScores, AdmError> {
        let AdmConfig { width, height, depth, options, .. } = self.config;
        if T::BYTES != if depth == 8 { 1 } else { 2 } {
            return Err(AdmError::SampleSize { bytes: T::BYTES, depth });
        }
        for plane in [reference, distorted] {
            if (plane.width(), plane.height()) != (width, height) {
                return Err(AdmError::Geometry {
                    width: plane.width(),
                    height: plane.height(),
                    expected_width: width,
                    expected_height: height,
                });
            }
        }
        let sums = match (T::named(*reference), T::named(*distorted)) {
            (NamedPlane::Bytes(reference), NamedPlane::Bytes(distorted)) => {
                self.sums([&reference, &distorted])
            }
            (NamedPlane::Words(reference), NamedPlane::Words(distorted)) => {
                self.sums([&reference, &distorted])
            }
            _ => return Err(AdmError::SampleSize { bytes: T::BYTES, depth }),
        };
        let parts = std::array::from_fn(|scale| {
            let (shifts, scored) = match scale.checked_sub(1) {
                None => (self.fine.shifts(), self.fine.scored()),
                Some(coarse) => (self.coarse[coarse].shifts(), self.coarse[coarse].scored()),
            };
            ScaleParts::new(&sums[scale], shifts, self.weights[scale], scale > 0, scored, &options)
        });
        Ok(scores::scores(parts, [width, height], &options))
    }

    /// Whether libvmaf computes all columns of the width alike. For some widths below 430 its vector code reads past the end of a
    /// row; this implementation then equals its C code.
    pub fn is_consistent_in_libvmaf(width: usize) -> bool {
        let coarse = &Axis::scales(width.max(MIN_SIZE))[1..];
        coarse.iter().all(|axis| axis.band % 4 != 1 || axis.computed.end < axis.band)
    }

    /// All integer sums.
    fn sums<T: CoefficientSource<Coefficient = i16>>(
        &mut self,
        planes: [&Plane<'_, T>; 2],
    ) -> [ScaleSums; SCALES] {
        let Self { simd, fine, fine_approximations, coarse, coarse_approximations, .. } = self;
        let [scale1, scale2, scale3] = coarse;
        let [approximations1, approximations2, approximations3] = coarse_approximations;
        let depth = self.config.depth;
        [
            fine.measure(*simd, depth, planes, fine_approximations),
            scale1.measure(*simd, depth, fine_approximations.each_ref(), approximations1),
            scale2.measure(*simd, depth, approximations1.each_ref(), approximations2),
            scale3.measure(*simd, depth, approximations2.each_ref(), approximations3),
        ]
    }
}
