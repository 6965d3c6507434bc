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

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
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

use crate::{InstructionSet, InvalidPlane, NamedPlane, Plane, PlaneSample};
#[cfg(target_arch = "x86_64")]
use dispatch::StripKernel;
use filter::SCALES;
use log_table::LogTable;
use pictures::{Halved, Pair};
use scalar::ScalarVif;
use statistic::GainLimit;

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

/// Measures pairs of pictures of one geometry. It owns all buffers: measuring a pair allocates nothing.
#[derive(Debug)]
pub struct Vif {
    config: VifConfig,
    limit: GainLimit,
    table: LogTable,
    /// Scales 1 to 3.
    halved: [Halved; SCALES - 1],
    kernel: Kernel,
    sums: [VifSums; SCALES],
}

#[derive(Debug)]
enum Kernel {
    Scalar(ScalarVif),
    #[cfg(target_arch = "x86_64")]
    Strips(Box<dyn StripKernel>),
}

impl Kernel {
    fn new(config: &VifConfig, table: &LogTable) -> Option<Self> {
        match config.instruction_set {
            InstructionSet::Scalar => Some(Self::Scalar(ScalarVif::new(config.width))),
            #[cfg(target_arch = "x86_64")]
            set => dispatch::kernel(set, table).map(Self::Strips),
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
            limit: GainLimit(limit),
            table,
            halved: [1, 2, 3].map(|scale| Halved::new(width >> scale, height >> scale)),
            kernel,
            sums: [VifSums::default(); SCALES],
        })
    }

    /// `T` is the type for the configured depth: `u8` for 8 bits, `u16` for more.
    pub fn measure<T: PlaneSample>(
        &mut self,
        reference: &Plane<'_, T>,
        distorted: &Plane<'_, T>,
    ) -> Result<VifScores, VifError> {
        self.check(reference)?;
        self.check(distorted)?;
        let shift = 16 - self.config.depth;
        let [one, two, three] = &mut self.halved;
        let (table, limit) = (&self.table, self.limit);
        match &mut self.kernel {
            Kernel::Scalar(kernel) => {
                let first = Pair { reference: *reference, distorted: *distorted, shift };
                self.sums[0] = kernel.measure(0, &first, table, limit);
                kernel.halve(0, &first, one);
                self.sums[1] = kernel.measure(1, &one.pair()?, table, limit);
                kernel.halve(1, &one.pair()?, two);
                self.sums[2] = kernel.measure(2, &two.pair()?, table, limit);
                kernel.halve(2, &two.pair()?, three);
                self.sums[3] = kernel.measure(3, &three.pair()?, table, limit);
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Strips(kernel) => {
                self.sums[0] = match (T::named(*reference), T::named(*distorted)) {
                    (NamedPlane::Bytes(reference), NamedPlane::Bytes(distorted)) => {
                        kernel.measure_bytes(&Pair { reference, distorted, shift }, one, table, limit)
                    }
                    (NamedPlane::Words(reference), NamedPlane::Words(distorted)) => kernel.measure_words(
                        0,
                        &Pair { reference, distorted, shift },
                        Some(one),
                        table,
                        limit,
                    ),
                    _ => VifSums::default(),
                };
                self.sums[1] = kernel.measure_words(1, &one.pair()?, Some(two), table, limit);
                self.sums[2] = kernel.measure_words(2, &two.pair()?, Some(three), table, limit);
                self.sums[3] = kernel.measure_words(3, &three.pair()?, None, table, limit);
            }
        }
        Ok(VifScores { scales: self.sums.map(|sums| sums.scale()) })
    }

    /// The integer sums of the last pair, by which instruction sets are compared: `num` and `den` hide small differences.
    pub fn sums(&self) -> &[VifSums; SCALES] {
        &self.sums
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
