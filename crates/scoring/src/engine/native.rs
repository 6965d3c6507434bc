//! Features that our kernels measure; libvmaf gets them by its import.

mod config;
mod kernels;
mod motion;
mod part;
mod recheck;
mod team;
mod threads;

use std::fmt;
use std::sync::Arc;

use vmafx_job::FeatureEngine;
use vmafx_kernels::InstructionSet;

pub use self::kernels::KernelError;
use self::kernels::is_native;
pub(super) use self::kernels::overruns_libvmaf;
pub(super) use self::motion::NativeMotion;
pub use self::recheck::{KernelMismatch, check_kernels};
use self::threads::Measurer;
use super::features::{FeatureOutput, RequiredExtractor, RequiredExtractors};
use super::ffi::{LibvmafError, SharedPicture};
use super::session::HeldPictures;
use crate::picture::PictureFormat;

/// What computes the features, with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// libvmaf computes all of them.
    Libvmaf,
    /// Our kernels compute those that they can, and libvmaf the others.
    Native(InstructionSet),
}

/// `libvmaf`, or `native-` and the instruction set, as in reports.
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Libvmaf => f.write_str("libvmaf"),
            Self::Native(set) => write!(f, "native-{set}"),
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        FeatureEngine::default().into()
    }
}

/// Our kernels use the best instruction set of this CPU. Without one of theirs, libvmaf's extractors are faster than the scalar
/// specification.
impl From<FeatureEngine> for Engine {
    fn from(engine: FeatureEngine) -> Self {
        match engine {
            FeatureEngine::Libvmaf => Self::Libvmaf,
            FeatureEngine::Native => match InstructionSet::best() {
                InstructionSet::Scalar => Self::Libvmaf,
                set => Self::Native(set),
            },
        }
    }
}

/// Kernels could not be set up, or measured less than they were given.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Mismatch(#[from] KernelMismatch),
    #[error("no memory for pictures")]
    Pictures(#[source] LibvmafError),
    #[error("a thread that measures could not be started")]
    Thread(#[from] std::io::Error),
    #[error("a thread that measures ended before its work")]
    ThreadGone,
}

/// What the kernels of all threads of a session have in common.
#[derive(Debug)]
struct NativeSetup {
    extractors: Vec<RequiredExtractor>,
    /// Of all extractors, in their order.
    outputs: Vec<FeatureOutput>,
    format: PictureFormat,
    set: InstructionSet,
}

/// The extractors that our kernels compute in a session, and what they have measured.
pub(super) struct NativeExtractors {
    setup: Arc<NativeSetup>,
    measurer: Measurer,
}

impl NativeExtractors {
    /// Takes those for which there are kernels out of `required`. `None` if there is none.
    pub(super) fn take_from(
        required: &mut RequiredExtractors,
        format: PictureFormat,
        threads: u32,
        clips: usize,
        set: InstructionSet,
    ) -> Result<Option<Self>, NativeError> {
        let extractors = required.take(|extractor| is_native(extractor, format));
        if extractors.is_empty() {
            return Ok(None);
        }
        let setup = Arc::new(NativeSetup {
            outputs: extractors.iter().flat_map(RequiredExtractor::outputs).collect(),
            extractors,
            format,
            set,
        });
        let measurer = Measurer::start(&setup, threads, clips)?;
        Ok(Some(Self { setup, measurer }))
    }

    pub(super) fn outputs(&self) -> &[FeatureOutput] {
        &self.setup.outputs
    }

    /// Pictures that are held at most beside the pair being fed.
    pub(super) fn held_pictures(&self) -> HeldPictures {
        self.measurer.held_pictures()
    }

    /// Takes a pair of frame `number`. Pairs of one frame follow each other and have the same reference. Blocks while all threads
    /// are busy.
    pub(super) fn measure(
        &mut self,
        number: u64,
        index: u32,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<(), NativeError> {
        self.measurer.measure(number, index, reference, distorted)
    }

    /// Waits for the threads.
    pub(super) fn finish(self) -> Result<MeasuredFeatures, NativeError> {
        Ok(MeasuredFeatures { values: self.measurer.finish()?, setup: Some(self.setup) })
    }
}

/// What the kernels measured in a session.
#[derive(Default)]
pub(super) struct MeasuredFeatures {
    setup: Option<Arc<NativeSetup>>,
    values: threads::MeasuredPairs,
}

impl MeasuredFeatures {
    /// The outputs of the pair with this index in the session.
    pub(super) fn of(&self, index: u32) -> impl Iterator<Item = (&FeatureOutput, f64)> {
        let values = self.values.get(&index).map_or(&[][..], Vec::as_slice);
        self.setup.iter().flat_map(|setup| &setup.outputs).zip(values.iter().copied())
    }
}
