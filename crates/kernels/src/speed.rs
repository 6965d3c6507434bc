//! `SpEED` of chroma: how much the spatial entropy of blocks of the two chroma planes differs between two pictures.
//!
//! Each plane is blurred and decimated to a sixteenth, so only what remains is ever computed. The covariance of the samples of
//! blocks of 5x5 gives eigenvalues, and a linear system gives the variance of each block. This is floating-point arithmetic:
//! every sum is in libvmaf's order, single and double precision are rounded where libvmaf rounds, products are fused only in
//! [`SummationOrder`], and logarithms and exponentials come from the C library that libvmaf uses too.

// One function is compiled for several instruction sets, for which the compiler must see all of it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod covariance;
mod dimensions;
mod eigenvalues;
mod entropy;
mod filter;
mod linear;

pub use covariance::SummationOrder;
use dimensions::Dimensions;
use entropy::{Blocks, Estimator};
use filter::Decimator;

use crate::dispatch::Avx2;
use crate::{InstructionSet, Plane, PlaneSample};

/// Behind the decimated details, so that vectors may read over their end.
const PADDING: usize = 16;

/// libvmaf's options of the same names, with a `speed_kernelscale` of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedOptions {
    pub prescale: Prescale,
    /// The deviation of neural noise: `speed_sigma_nn`.
    pub sigma: f64,
    /// Less entropy is invisible: `speed_nn_floor`.
    pub noise_floor: f64,
    /// Larger scores are clipped: `speed_max_val`.
    pub max_value: f64,
    /// `speed_weight_var_mode`.
    pub weighting: VarianceWeighting,
}

/// The scale of planes before everything else: `speed_prescale` and `speed_prescale_method`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prescale {
    pub factor: f64,
    pub method: PrescaleMethod,
}

/// libvmaf's methods without `bicubic` and `lanczos4`, which no built-in model uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrescaleMethod {
    Nearest,
    Bilinear,
}

/// The variances that weight the entropies of the reference and of the distorted picture, in the order of libvmaf's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VarianceWeighting {
    #[default]
    Own,
    Reference,
    Distorted,
    Mean,
    OwnAndMean,
    OwnAndMostlyReference,
    OwnAndMostlyDistorted,
}

impl VarianceWeighting {
    pub const ALL: [Self; 7] = [
        Self::Own,
        Self::Reference,
        Self::Distorted,
        Self::Mean,
        Self::OwnAndMean,
        Self::OwnAndMostlyReference,
        Self::OwnAndMostlyDistorted,
    ];
}

impl Default for SpeedOptions {
    fn default() -> Self {
        Self {
            prescale: Prescale { factor: 1.0, method: PrescaleMethod::Nearest },
            sigma: 0.29,
            noise_floor: 0.0,
            max_value: 1000.0,
            weighting: VarianceWeighting::Own,
        }
    }
}

impl SpeedOptions {
    /// Those of the built-in v1 models, which differ in the scale only.
    pub fn of_v1_models(prescale: Prescale) -> Self {
        Self {
            prescale,
            sigma: 0.19,
            noise_floor: 0.1,
            max_value: 45.0,
            weighting: VarianceWeighting::OwnAndMostlyReference,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedConfig {
    /// The size of a chroma plane.
    pub width: usize,
    pub height: usize,
    /// Bits of a sample: 8, 10, 12 or 16.
    pub depth: u32,
    pub options: SpeedOptions,
    pub order: SummationOrder,
    pub instruction_set: InstructionSet,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SpeedError {
    #[error("SpEED needs chroma planes of at least 80x80 after scaling, not {width}x{height}")]
    TooSmall { width: usize, height: usize },
    #[error("SpEED cannot score samples of {depth} bits; use 8, 10, 12 or 16")]
    Depth { depth: u32 },
    #[error("{option} = {value} is out of range; use {range}")]
    Option { option: &'static str, value: f64, range: &'static str },
    #[error("the CPU does not have {0}")]
    InstructionSet(InstructionSet),
    #[error("expected a plane of {expected:?} with {bytes} bytes per sample, not {found:?}")]
    Plane { expected: (usize, usize), bytes: usize, found: (usize, usize) },
}

/// libvmaf's `Speed_chroma_feature_speed_chroma_{u,v,uv}_score`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedScores {
    pub u: f64,
    pub v: f64,
    pub uv: f64,
}

/// Owns all buffers, so that no pair of pictures allocates.
#[derive(Clone, Debug)]
pub struct Speed {
    config: SpeedConfig,
    analyser: Analyser,
    /// Of its planes u and v.
    reference: [Blocks; 2],
    distorted: Blocks,
    avx2: Option<Avx2>,
}

/// The steps from a plane to its blocks.
#[derive(Clone, Debug)]
struct Analyser {
    depth: u32,
    sigma: f32,
    order: SummationOrder,
    decimator: Decimator,
    details: Vec<f32>,
    estimator: Estimator,
    #[cfg(target_arch = "x86_64")]
    centred: covariance::avx2::CentredRows,
}

impl Analyser {
    #[inline(always)]
    fn analyse<T: PlaneSample>(&mut self, plane: &Plane<'_, T>, blocks: &mut Blocks) {
        self.decimator.decimate(plane, self.depth, &mut self.details);
        let means = self.estimator.means(&self.details);
        self.estimator.covariances(&self.details, &means, self.order);
        self.estimator.estimate(&self.details, self.sigma, blocks);
    }
}

/// The difference of a pair of planes.
struct PlaneScore {
    score: f32,
    is_singular: bool,
}

impl Speed {
    pub fn new(config: &SpeedConfig) -> Result<Self, SpeedError> {
        let &SpeedConfig { width, height, depth, options, order, instruction_set } = config;
        if ![8, 10, 12, 16].contains(&depth) {
            return Err(SpeedError::Depth { depth });
        }
        if !instruction_set.is_available() {
            return Err(SpeedError::InstructionSet(instruction_set));
        }
        options.check()?;
        // libvmaf's tolerance.
        let factor = options.prescale.factor;
        let factor = if (factor - 1.0).abs() < 1e-3 { 1.0 } else { factor };
        let dimensions =
            Dimensions::new(width, height, factor).ok_or(SpeedError::TooSmall { width, height })?;
        #[allow(clippy::cast_possible_truncation)] // As in libvmaf.
        let sigma = options.sigma as f32;
        Ok(Self {
            config: *config,
            analyser: Analyser {
                depth,
                sigma,
                order,
                decimator: Decimator::new(dimensions, options.prescale),
                details: vec![0.0; dimensions.small_width * dimensions.small_height + PADDING],
                estimator: Estimator::new(dimensions),
                #[cfg(target_arch = "x86_64")]
                centred: covariance::avx2::CentredRows::new(&dimensions),
            },
            reference: [(); 2].map(|()| Blocks::new(&dimensions)),
            distorted: Blocks::new(&dimensions),
            avx2: Avx2::new(instruction_set),
        })
    }

    /// The difference of the planes u and v of two pictures.
    pub fn measure<T: PlaneSample>(
        &mut self,
        reference: [&Plane<'_, T>; 2],
        distorted: [&Plane<'_, T>; 2],
    ) -> Result<SpeedScores, SpeedError> {
        self.set_reference(reference)?;
        self.compare(distorted)
    }

    /// Analyses the planes u and v of the picture that others are compared with.
    pub fn set_reference<T: PlaneSample>(&mut self, planes: [&Plane<'_, T>; 2]) -> Result<(), SpeedError> {
        planes.iter().try_for_each(|plane| self.check(plane))?;
        for (plane, blocks) in planes.into_iter().zip(&mut self.reference) {
            analyse(self.avx2, &mut self.analyser, plane, blocks);
        }
        Ok(())
    }

    /// The difference of the planes u and v of a picture and of the reference that was set last.
    pub fn compare<T: PlaneSample>(&mut self, planes: [&Plane<'_, T>; 2]) -> Result<SpeedScores, SpeedError> {
        planes.iter().try_for_each(|plane| self.check(plane))?;
        let [u, v] = [0, 1].map(|index| self.compare_plane(index, planes[index]));
        // The score of a flat plane says nothing, so the other plane's stands for both.
        let both = match (u.is_singular, v.is_singular) {
            (true, false) => v.score,
            (false, true) => u.score,
            #[allow(clippy::manual_midpoint)] // `midpoint` would not round the sum.
            _ => (u.score + v.score) / 2.0,
        };
        let clip = |score: f32| {
            let score = f64::from(score);
            if score < self.config.options.max_value { score } else { self.config.options.max_value }
        };
        Ok(SpeedScores { u: clip(u.score), v: clip(v.score), uv: clip(both) })
    }

    #[allow(clippy::cast_possible_truncation)] // As in libvmaf.
    fn compare_plane<T: PlaneSample>(&mut self, index: usize, plane: &Plane<'_, T>) -> PlaneScore {
        let options = self.config.options;
        analyse(self.avx2, &mut self.analyser, plane, &mut self.distorted);
        let reference = &self.reference[index];
        let singular = (reference.is_singular(), self.distorted.is_singular());
        let score = if singular.0 == singular.1 {
            let floor = options.noise_floor as f32;
            entropy::difference(reference, &self.distorted, self.analyser.sigma, floor, options.weighting)
        } else {
            0.0
        };
        PlaneScore { score, is_singular: singular.0 || singular.1 }
    }

    fn check<T: PlaneSample>(&self, plane: &Plane<'_, T>) -> Result<(), SpeedError> {
        let SpeedConfig { width, height, depth, .. } = self.config;
        let (expected, found) = ((width, height), (plane.width(), plane.height()));
        let bytes = if depth > 8 { 2 } else { 1 };
        if expected != found || T::BYTES != bytes {
            return Err(SpeedError::Plane { expected, bytes, found });
        }
        Ok(())
    }
}

fn analyse<T: PlaneSample>(
    avx2: Option<Avx2>,
    analyser: &mut Analyser,
    plane: &Plane<'_, T>,
    blocks: &mut Blocks,
) {
    match avx2 {
        #[cfg(target_arch = "x86_64")]
        Some(avx2) => avx2.analyse(analyser, plane, blocks),
        _ => analyser.analyse(plane, blocks),
    }
}

impl SpeedOptions {
    /// libvmaf's limits, and a scale of at most 1.
    fn check(&self) -> Result<(), SpeedError> {
        let checks = [
            ("speed_prescale", self.prescale.factor, 0.1..=1.0, "0.1 to 1"),
            ("speed_sigma_nn", self.sigma, 0.1..=2.0, "0.1 to 2"),
            ("speed_nn_floor", self.noise_floor, 0.0..=1.0, "0 to 1"),
            ("speed_max_val", self.max_value, 0.0..=1000.0, "0 to 1000"),
        ];
        match checks.into_iter().find(|(_, value, range, _)| !range.contains(value)) {
            Some((option, value, _, range)) => Err(SpeedError::Option { option, value, range }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
