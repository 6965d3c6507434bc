//! CAMBI: banding in the luma of one picture.
//!
//! A picture is brought to 10 bits, dithering is averaged out, and pixels in flat surroundings are marked. At each of five
//! scales, a marked pixel responds to how often its sample and samples a small step away occur in the window around it; the
//! score is a weighted sum of the means of the largest responses. All counts are integers, and responses are single products,
//! so only the sum in [`pool`] could depend on its order.

// One function is compiled for several instruction sets, for which the compiler must see all of it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod contrast;
mod luminance;
mod pool;
mod prepare;
mod raster;
mod response;
mod scale;

use contrast::Contrast;
pub use luminance::Eotf;
use pool::{Pool, ResponseTotals};
use prepare::{Preparation, Preparer, SampleTooLarge};
use raster::Raster;
use response::WindowCounts;
use scale::ModeFilter;

use crate::dispatch::Avx2;
use crate::{InstructionSet, Plane, PlaneSample};

/// The weights of the scales, from the largest picture to the smallest.
const SCALE_WEIGHTS: [f64; 5] = [16.0, 8.0, 4.0, 2.0, 1.0];

/// libvmaf's table of reciprocals ends behind the pixels of this window.
const MAX_WINDOW: usize = 65;

/// libvmaf's options of the same names; those that scale the picture or use the reference are not supported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CambiOptions {
    /// Larger scores are clipped: `cambi_max_val`.
    pub max_value: f64,
    /// The window's size in pictures of 3840x2160: `window_size`.
    pub window: u32,
    /// The share of pixels that is pooled: `cambi_topk`.
    pub pooled_share: f64,
    /// `tvi_threshold`.
    pub tvi_threshold: f64,
    /// Banding in darker parts is invisible: `cambi_vis_lum_threshold`.
    pub luminance_threshold: f64,
    /// `max_log_contrast`.
    pub max_log_contrast: u32,
    /// `cambi_eotf`.
    pub eotf: Eotf,
    /// The size from which the picture is halved first: `cambi_high_res_speedup`.
    pub halve_from: Option<HalveFrom>,
}

/// Pictures of at least this many pixels are halved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalveFrom {
    P1080,
    P1440,
    P2160,
}

impl HalveFrom {
    const fn pixels(self) -> usize {
        match self {
            Self::P1080 => 1920 * 1080,
            Self::P1440 => 2560 * 1440,
            Self::P2160 => 3840 * 2160,
        }
    }
}

impl Default for CambiOptions {
    fn default() -> Self {
        Self {
            max_value: 1000.0,
            window: 65,
            pooled_share: 0.6,
            tvi_threshold: 0.019,
            luminance_threshold: 0.0,
            max_log_contrast: 2,
            eotf: Eotf::Bt1886,
            halve_from: None,
        }
    }
}

impl CambiOptions {
    /// Those of all built-in v1 models.
    pub fn of_v1_models() -> Self {
        Self {
            max_value: 17.0,
            luminance_threshold: 0.06,
            halve_from: Some(HalveFrom::P1080),
            ..Self::default()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CambiConfig {
    pub width: usize,
    pub height: usize,
    /// Bits of a sample, from 8 to 16.
    pub depth: u32,
    pub options: CambiOptions,
    pub instruction_set: InstructionSet,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CambiError {
    #[error("CAMBI needs a width or height of at least 216, not {width}x{height}")]
    TooSmall { width: usize, height: usize },
    #[error(
        "CAMBI cannot score pictures as narrow as {width}x{height}: the smallest scale is less than half a window"
    )]
    TooNarrow { width: usize, height: usize },
    #[error("CAMBI cannot score samples of {depth} bits; use 8 to 16")]
    Depth { depth: u32 },
    #[error("{option} = {value} is out of range; use {range}")]
    Option { option: &'static str, value: f64, range: &'static str },
    #[error("the window of {window} pixels is too large; use at most 65")]
    Window { window: usize },
    #[error("the CPU does not have {0}")]
    InstructionSet(InstructionSet),
    #[error("expected a plane of {expected:?} with {bytes} bytes per sample, not {found:?}")]
    Plane { expected: (usize, usize), bytes: usize, found: (usize, usize) },
    #[error("a sample exceeds the largest value of {depth} bits")]
    Sample { depth: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CambiScores {
    /// libvmaf's `Cambi_feature_cambi_score`.
    pub cambi: f64,
    /// The means of the largest responses, from the largest picture to the smallest.
    pub scales: [f64; 5],
}

/// Owns all buffers, so that no picture allocates.
#[derive(Clone, Debug)]
pub struct Cambi {
    width: usize,
    height: usize,
    depth: u32,
    halve: bool,
    options: CambiOptions,
    contrast: Contrast,
    window: usize,
    preparer: Preparer,
    mode_filter: ModeFilter,
    image: Raster<u16>,
    filtered: Raster<u16>,
    mask: Raster<u8>,
    half_mask: Raster<u8>,
    responder: Responder,
    responses: Raster<f32>,
    pool: Pool,
    avx2: Option<Avx2>,
}

/// The counts of one of the implementations.
#[derive(Clone, Debug)]
enum Responder {
    Scalar(WindowCounts),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2, response::avx2::ColumnCounts),
}

impl Responder {
    fn new(avx2: Option<Avx2>, contrast: &Contrast, width: usize, window: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = avx2
            && let Some(counts) = response::avx2::ColumnCounts::new(contrast, width, window)
        {
            return Self::Avx2(avx2, counts);
        }
        Self::Scalar(WindowCounts::new(contrast, width))
    }
}

impl Cambi {
    pub fn new(config: &CambiConfig) -> Result<Self, CambiError> {
        let &CambiConfig { width, height, depth, options, instruction_set } = config;
        if width.max(height) < 216 {
            return Err(CambiError::TooSmall { width, height });
        }
        if !(8..=16).contains(&depth) {
            return Err(CambiError::Depth { depth });
        }
        if !instruction_set.is_available() {
            return Err(CambiError::InstructionSet(instruction_set));
        }
        options.check()?;
        let halve = options.halve_from.is_some_and(|from| width * height >= from.pixels());
        let window = window(options.window as usize, width + height, halve);
        if window > MAX_WINDOW {
            return Err(CambiError::Window { window });
        }
        let halvings = SCALE_WEIGHTS.len() - usize::from(!halve);
        // Below this, libvmaf reads and writes behind its pictures.
        if width.min(height).div_ceil(1 << halvings) <= window / 2 {
            return Err(CambiError::TooNarrow { width, height });
        }
        let contrast = Contrast::new(
            options.eotf,
            options.max_log_contrast,
            options.tvi_threshold,
            options.luminance_threshold,
            window * window,
        )
        .ok_or(CambiError::Option {
            option: "cambi_vis_lum_threshold",
            value: options.luminance_threshold,
            range: "a luminance that a sample has",
        })?;
        let step = if halve { 2 } else { 1 };
        let (first_width, first_height) = (width.div_ceil(step), height.div_ceil(step));
        let avx2 = Avx2::new(instruction_set);
        let preparation = Preparation { depth, flatness: prepare::required_flatness(width, height), halve };
        Ok(Self {
            width,
            height,
            depth,
            halve,
            options,
            window,
            preparer: Preparer::new(width, preparation),
            mode_filter: ModeFilter::new(first_width),
            image: Raster::new(first_width, first_height),
            filtered: Raster::new(first_width, first_height),
            mask: Raster::new(first_width, first_height),
            half_mask: Raster::new(first_width.div_ceil(2), first_height.div_ceil(2)),
            responder: Responder::new(avx2, &contrast, first_width, window),
            contrast,
            responses: Raster::new(first_width, first_height),
            pool: Pool::new(first_width * first_height),
            avx2,
        })
    }

    /// The banding in a luma plane.
    pub fn measure<T: PlaneSample>(&mut self, luma: &Plane<'_, T>) -> Result<CambiScores, CambiError> {
        let (expected, found) = ((self.width, self.height), (luma.width(), luma.height()));
        let bytes = if self.depth > 8 { 2 } else { 1 };
        if expected != found || T::BYTES != bytes {
            return Err(CambiError::Plane { expected, bytes, found });
        }
        self.prepare(luma).map_err(|SampleTooLarge| CambiError::Sample { depth: self.depth })?;
        let mut scales = [0.0; 5];
        for (index, mean) in scales.iter_mut().enumerate() {
            self.scale(index > 0);
            let totals = self.respond();
            let pixels = self.image.width() * self.image.height();
            let count = pool::pooled_count(self.options.pooled_share, pixels);
            *mean = match self.avx2 {
                #[cfg(target_arch = "x86_64")]
                Some(avx2) => avx2.mean_of_largest(&mut self.pool, &self.responses, totals, count),
                _ => self.pool.mean_of_largest(&self.responses, totals, count),
            };
        }
        Ok(CambiScores { cambi: self.score(&scales), scales })
    }

    fn prepare<T: PlaneSample>(&mut self, luma: &Plane<'_, T>) -> Result<(), SampleTooLarge> {
        let step = if self.halve { 2 } else { 1 };
        let (width, height) = (self.width.div_ceil(step), self.height.div_ceil(step));
        self.image.resize(width, height);
        self.mask.resize(width, height);
        match self.avx2 {
            #[cfg(target_arch = "x86_64")]
            Some(avx2) => avx2.prepare(&mut self.preparer, luma, &mut self.image, &mut self.mask),
            _ => self.preparer.prepare(luma, &mut self.image, &mut self.mask),
        }
    }

    /// Filters a scale; halves the one before first.
    fn scale(&mut self, halve: bool) {
        if halve {
            match self.avx2 {
                #[cfg(target_arch = "x86_64")]
                Some(avx2) => {
                    avx2.halve(&self.filtered, &mut self.image, &self.mask, &mut self.half_mask);
                }
                _ => {
                    scale::halve(&self.filtered, &mut self.image);
                    scale::halve(&self.mask, &mut self.half_mask);
                }
            }
            std::mem::swap(&mut self.mask, &mut self.half_mask);
        }
        match self.avx2 {
            #[cfg(target_arch = "x86_64")]
            Some(avx2) => avx2.filter_mode(&mut self.mode_filter, &self.image, &mut self.filtered),
            _ => self.mode_filter.filter(&self.image, &mut self.filtered),
        }
    }

    fn respond(&mut self) -> ResponseTotals {
        let (image, mask, responses) = (&self.filtered, &self.mask, &mut self.responses);
        match &mut self.responder {
            Responder::Scalar(counts) => {
                response::respond(image, mask, &self.contrast, self.window, counts, responses)
            }
            #[cfg(target_arch = "x86_64")]
            Responder::Avx2(avx2, counts) => avx2.respond(image, mask, counts, responses),
        }
    }

    #[allow(clippy::cast_precision_loss)] // At most 4225.
    fn score(&self, scales: &[f64; 5]) -> f64 {
        let sum = scales.iter().zip(SCALE_WEIGHTS).fold(0.0, |sum, (mean, weight)| sum + mean * weight);
        (sum / (self.window * self.window) as f64).min(self.options.max_value)
    }
}

impl CambiOptions {
    /// libvmaf's limits.
    fn check(&self) -> Result<(), CambiError> {
        let checks = [
            ("cambi_max_val", self.max_value, 0.0..=1000.0, "0 to 1000"),
            ("window_size", f64::from(self.window), 15.0..=127.0, "15 to 127"),
            ("cambi_topk", self.pooled_share, 0.0001..=1.0, "0.0001 to 1"),
            ("tvi_threshold", self.tvi_threshold, 0.0001..=1.0, "0.0001 to 1"),
            ("cambi_vis_lum_threshold", self.luminance_threshold, 0.0..=300.0, "0 to 300"),
            ("max_log_contrast", f64::from(self.max_log_contrast), 0.0..=5.0, "0 to 5"),
        ];
        match checks.into_iter().find(|(_, value, range, _)| !range.contains(value)) {
            Some((option, value, _, range)) => Err(CambiError::Option { option, value, range }),
            None => Ok(()),
        }
    }
}

/// The size of the window in a picture whose width and height have this sum: about a degree of the field of view.
fn window(size_in_4k: usize, width_and_height: usize, halve: bool) -> usize {
    let window = size_in_4k * width_and_height / 375 / 16;
    (if halve { window.div_ceil(2) } else { window }) | 1
}

#[cfg(test)]
mod tests;
