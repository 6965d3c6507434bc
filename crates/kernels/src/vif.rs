//! Visual information fidelity, as libvmaf's extractor `vif` computes it.
//!
//! Both pictures are seen at four scales. At each scale a Gaussian window gives means, variances and the covariance around
//! every sample; from these follow the information that the distorted picture carries about the reference (`num`) and the
//! information in the reference (`den`). The next scale is the even samples of the even rows after a narrower window.
//!
//! Everything up to [`VifSums`] is integer arithmetic. Its rules:
//!
//! - Samples are shifted to 16 bits. libvmaf shifts by the depth after its first pass instead, which is the same.
//! - Windows have weights that add up to 65536, and mirror the picture at its edges without repeating the outermost sample.
//! - The vertical pass comes first. Its result is rounded to 16 bits for means and to 32 bits for products. The horizontal
//!   pass of means is not rounded; that of products is rounded to 32 bits.
//! - Sums do not depend on the order of samples, so kernels may take them in any order. Only [`VifSums::scale`] uses
//!   floating-point numbers across samples.
//!
//! Kernels measure several distorted pictures with one pass over the reference: its means, variances, logarithms and halved
//! pictures are the same for all of them. Threads share a picture in bands of rows.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod bands;
#[cfg(target_arch = "x86_64")]
mod dispatch;
mod filter;
mod log_table;
mod pictures;
#[cfg(target_arch = "x86_64")]
mod prefetch;
mod scalar;
mod scores;
mod statistic;
#[cfg(target_arch = "x86_64")]
mod strip;

pub use scores::{VifScale, VifScores, VifSums};

use std::slice;

use crate::{InstructionSet, InvalidPlane, NamedPlane, Plane, PlaneSample, Sequential, Task, TaskRunner};
#[cfg(target_arch = "x86_64")]
use bands::BandedPass;
#[cfg(target_arch = "x86_64")]
use dispatch::StripKernels;
use filter::SCALES;
use log_table::LogTable;
use pictures::Halved;
use scalar::{Pair, ScalarVif};
use statistic::{GainLimit, Scorer};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VifConfig {
    pub width: usize,
    pub height: usize,
    /// 8, 10, 12 or 16 bits.
    pub depth: u32,
    /// At least 1, which disregards any enhancement of contrast. libvmaf's default is 100; NEG models have 1.
    pub enhancement_gain_limit: f64,
    pub instruction_set: InstructionSet,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VifError {
    #[error("a picture of {width}x{height} is too small for VIF; the minimum is {0}x{0}", Vif::MIN_SIZE)]
    TooSmall { width: usize, height: usize },
    #[error("VIF has no rules for samples of {depth} bits; use 8, 10, 12 or 16")]
    Depth { depth: u32 },
    #[error("the enhancement gain limit {limit} is not between 1 and 100")]
    GainLimit { limit: f64 },
    #[error("this CPU lacks {0}; use one of InstructionSet::available()")]
    Unavailable(InstructionSet),
    #[error("a plane has {width}x{height} samples of {bytes} bytes; VIF was set up for {expected:?}")]
    Unexpected { width: usize, height: usize, bytes: usize, expected: VifConfig },
    #[error(transparent)]
    Plane(#[from] InvalidPlane),
}

/// Measures pictures of one geometry. It owns all buffers.
#[derive(Debug)]
pub struct Vif {
    config: VifConfig,
    scorer: Scorer,
    /// The pictures of scales 1 to 3, the reference first.
    halved: [Vec<Halved>; SCALES - 1],
    kernel: Kernel,
    sums: Vec<[VifSums; SCALES]>,
}

#[derive(Debug)]
enum Kernel {
    Scalar(ScalarVif),
    #[cfg(target_arch = "x86_64")]
    Strips(Box<StripKernels>),
}

impl Kernel {
    fn new(config: &VifConfig, table: &LogTable) -> Option<Self> {
        match config.instruction_set {
            InstructionSet::Scalar => Some(Self::Scalar(ScalarVif::new(config.width))),
            #[cfg(target_arch = "x86_64")]
            set => StripKernels::new(set, table).map(|kernels| Self::Strips(Box::new(kernels))),
            #[cfg(not(target_arch = "x86_64"))]
            _ => None,
        }
    }
}

impl Vif {
    /// The width and height from which on mirroring at every scale stays within the picture.
    pub const MIN_SIZE: usize = 16;

    pub fn new(config: &VifConfig) -> Result<Self, VifError> {
        let VifConfig { width, height, depth, enhancement_gain_limit: limit, instruction_set } = *config;
        if width < Self::MIN_SIZE || height < Self::MIN_SIZE {
            return Err(VifError::TooSmall { width, height });
        }
        if !matches!(depth, 8 | 10 | 12 | 16) {
            return Err(VifError::Depth { depth });
        }
        if !(1.0..=100.0).contains(&limit) {
            return Err(VifError::GainLimit { limit });
        }
        let table = LogTable::new();
        let kernel = Kernel::new(config, &table).ok_or(VifError::Unavailable(instruction_set))?;
        Ok(Self {
            config: *config,
            scorer: Scorer { table, limit: GainLimit(limit) },
            halved: Default::default(),
            kernel,
            sums: Vec::new(),
        })
    }

    /// `T` is the type for the configured depth: `u8` for 8 bits, `u16` for more.
    pub fn measure<T: PlaneSample>(
        &mut self,
        reference: &Plane<'_, T>,
        distorted: &Plane<'_, T>,
    ) -> Result<VifScores, VifError> {
        self.fill_sums(reference, slice::from_ref(distorted), &mut Sequential)?;
        Ok(VifScores { scales: self.sums[0].map(|sums| sums.scale()) })
    }

    /// Measures several distorted pictures with the threads of `runner`. What depends on the reference alone is computed once.
    pub fn measure_all<T: PlaneSample>(
        &mut self,
        reference: &Plane<'_, T>,
        distorted: &[Plane<'_, T>],
        runner: &mut impl TaskRunner,
    ) -> Result<Vec<VifScores>, VifError> {
        self.fill_sums(reference, distorted, runner)?;
        Ok(self.sums.iter().map(|sums| VifScores { scales: sums.map(|sums| sums.scale()) }).collect())
    }

    /// The integer sums of each distorted picture that was measured last, by which instruction sets are compared: `num` and
    /// `den` hide small differences.
    pub fn sums(&self) -> &[[VifSums; SCALES]] {
        &self.sums
    }

    fn fill_sums<T: PlaneSample>(
        &mut self,
        reference: &Plane<'_, T>,
        distorted: &[Plane<'_, T>],
        runner: &mut impl TaskRunner,
    ) -> Result<(), VifError> {
        for plane in distorted.iter().chain([reference]) {
            self.check(plane)?;
        }
        self.sums.clear();
        self.sums.resize(distorted.len(), [VifSums::default(); SCALES]);
        let VifConfig { width, height, depth, .. } = self.config;
        for (halved, scale) in self.halved.iter_mut().zip(1..) {
            halved.resize_with(1 + distorted.len(), || Halved::new(width >> scale, height >> scale));
        }
        let shift = 16 - depth;
        match &mut self.kernel {
            Kernel::Scalar(kernel) => {
                let (halved, scorer, all_sums) = (&mut self.halved, &self.scorer, &mut self.sums);
                let mut result = Ok(());
                let task: Task<'_> = Box::new(|| {
                    result = distorted.iter().zip(all_sums).enumerate().try_for_each(
                        |(index, (distorted, sums))| {
                            let pair = Pair { reference: *reference, distorted: *distorted, shift };
                            *sums = kernel.measure_all(&pair, halved, 1 + index, scorer)?;
                            Ok(())
                        },
                    );
                });
                runner.run(vec![task]);
                result
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Strips(kernels) => {
                let kernels = &mut kernels.of_threads(runner.threads());
                let mut pass = BandedPass { kernels, runner, scorer: &self.scorer, sums: &mut self.sums };
                let [one, two, three] = &mut self.halved;
                match T::named(*reference) {
                    NamedPlane::Bytes(reference) => {
                        let distorted: Vec<_> = distorted.iter().filter_map(bytes).collect();
                        pass.measure_bytes(reference, &distorted, one);
                    }
                    NamedPlane::Words(reference) => {
                        let distorted: Vec<_> = distorted.iter().filter_map(words).collect();
                        pass.measure_words(0, reference, &distorted, shift, one);
                    }
                }
                pass.measure_halved(1, one, two)?;
                pass.measure_halved(2, two, three)?;
                pass.measure_halved(3, three, &mut [])
            }
        }
    }

    fn check<T: PlaneSample>(&self, plane: &Plane<'_, T>) -> Result<(), VifError> {
        let expected = self.config;
        let bytes = if expected.depth == 8 { 1 } else { 2 };
        if (plane.width(), plane.height(), T::BYTES) == (expected.width, expected.height, bytes) {
            return Ok(());
        }
        Err(VifError::Unexpected { width: plane.width(), height: plane.height(), bytes: T::BYTES, expected })
    }
}

fn bytes<'a, T: PlaneSample>(plane: &Plane<'a, T>) -> Option<Plane<'a, u8>> {
    match T::named(*plane) {
        NamedPlane::Bytes(plane) => Some(plane),
        NamedPlane::Words(_) => None,
    }
}

fn words<'a, T: PlaneSample>(plane: &Plane<'a, T>) -> Option<Plane<'a, u16>> {
    match T::named(*plane) {
        NamedPlane::Bytes(_) => None,
        NamedPlane::Words(plane) => Some(plane),
    }
}
