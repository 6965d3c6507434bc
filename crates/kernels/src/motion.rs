//! Motion, as libvmaf's integer extractor `motion` computes it: the mean absolute difference of neighbouring blurred frames of
//! the reference, and what is derived from it at the end of the clip.
//!
//! Blurring is linear up to rounding, so libvmaf blurs the difference of the frames and not the frames.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernels;
mod scalar;
mod series;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vector;

pub use series::{MotionScores, MotionSeries};

use crate::sample::NamedPlane;
use crate::simd::{Simd, UnavailableInstructionSet};
use crate::{InstructionSet, Plane, PlaneSample};
use kernels::Blur;

/// The options of libvmaf's extractor, with its defaults.
#[allow(clippy::struct_excessive_bools)] // They are independent switches of libvmaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MotionOptions {
    /// `motion_force_zero`
    pub force_zero: bool,
    /// `motion_blend_factor`: weight of what exceeds the offset.
    pub blend_factor: f64,
    /// `motion_blend_offset`
    pub blend_offset: f64,
    /// `motion_fps_weight`
    pub fps_weight: f64,
    /// `motion_max_val`
    pub max_value: f64,
    /// `motion_five_frame_window`: compares each frame with the one before the previous one.
    pub five_frame_window: bool,
    /// `motion_moving_average`: `motion3` is the mean of this frame and the previous one.
    pub moving_average: bool,
}

impl Default for MotionOptions {
    fn default() -> Self {
        Self {
            force_zero: false,
            blend_factor: 1.0,
            blend_offset: 40.0,
            fps_weight: 1.0,
            max_value: 10_000.0,
            five_frame_window: false,
            moving_average: false,
        }
    }
}

impl MotionOptions {
    /// How many frames back a frame is compared.
    fn distance(&self) -> usize {
        if self.five_frame_window { 2 } else { 1 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MotionConfig {
    pub width: usize,
    pub height: usize,
    /// Bits of a sample: 8 to 16.
    pub depth: u32,
    pub options: MotionOptions,
    pub instruction_set: InstructionSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MotionError {
    #[error(transparent)]
    InstructionSet(#[from] UnavailableInstructionSet),
    #[error("pictures of {width}x{height} are too small; both must be at least {MIN_SIZE}")]
    TooSmall { width: usize, height: usize },
    #[error("{0} bits per sample are not supported; use 8 to 16")]
    Depth(u32),
    #[error("a plane of {width}x{height} was given instead of {expected_width}x{expected_height}")]
    Geometry { width: usize, height: usize, expected_width: usize, expected_height: usize },
    #[error("samples of {bytes} bytes were given for a depth of {depth} bits")]
    SampleSize { bytes: usize, depth: u32 },
}

/// The filter reaches two samples in each direction, and mirrors them.
const MIN_SIZE: usize = 3;
const FILTER: [i16; 5] = [3571, 16004, 26386, 16004, 3571];

/// Earlier frames that later ones are compared with.
#[derive(Clone, Debug)]
enum Frames {
    Bytes(Vec<Vec<u8>>),
    Words(Vec<Vec<u16>>),
}

/// Measures one clip, fed with one plane of the reference after the other. Owns all buffers.
#[derive(Clone, Debug)]
pub struct Motion {
    config: MotionConfig,
    blur: Blur,
    frames: Frames,
    series: MotionSeries,
}

impl Motion {
    pub fn new(config: &MotionConfig) -> Result<Self, MotionError> {
        let MotionConfig { width, height, depth, options, instruction_set } = *config;
        let simd = Simd::new(instruction_set)?;
        if width < MIN_SIZE || height < MIN_SIZE {
            return Err(MotionError::TooSmall { width, height });
        }
        if !(8..=16).contains(&depth) {
            return Err(MotionError::Depth(depth));
        }
        let (count, length) = (options.distance(), width * height);
        Ok(Self {
            config: *config,
            blur: Blur::new(simd, width, depth),
            frames: if depth == 8 {
                Frames::Bytes(vec![vec![0; length]; count])
            } else {
                Frames::Words(vec![vec![0; length]; count])
            },
            series: MotionSeries::new(options),
        })
    }

    /// Adds a frame and gives its `VMAF_integer_feature_motion_sad_score`.
    pub fn push<T: PlaneSample>(&mut self, plane: &Plane<'_, T>) -> Result<f64, MotionError> {
        let MotionConfig { width, height, depth, options, .. } = self.config;
        if (plane.width(), plane.height()) != (width, height) {
            return Err(MotionError::Geometry {
                width: plane.width(),
                height: plane.height(),
                expected_width: width,
                expected_height: height,
            });
        }
        let index = self.series.len();
        let slot = index % options.distance();
        let first = index < options.distance();
        let sum = match (T::named(*plane), &mut self.frames) {
            (NamedPlane::Bytes(plane), Frames::Bytes(frames)) => {
                if options.force_zero {
                    0
                } else {
                    self.blur.compare(&mut frames[slot], &plane, first)
                }
            }
            (NamedPlane::Words(plane), Frames::Words(frames)) => {
                if options.force_zero {
                    0
                } else {
                    self.blur.compare(&mut frames[slot], &plane, first)
                }
            }
            _ => return Err(MotionError::SampleSize { bytes: T::BYTES, depth }),
        };
        #[allow(clippy::cast_precision_loss)] // Exact for pictures.
        let mean = sum as f64 / 256.0 / (width * height) as f64;
        let value = mean * options.fps_weight;
        let value = if value < options.max_value { value } else { options.max_value };
        let value = if first || options.force_zero { 0.0 } else { value };
        self.series.push(value);
        Ok(value)
    }

    /// The frames that were added.
    pub fn series(&self) -> &MotionSeries {
        &self.series
    }
}
