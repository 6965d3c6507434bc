//! The kernels of one thread.

use vmafx_kernels::{InstructionSet, InvalidPlane, Plane, Sample};
use vmafx_kernels::{Vif, VifConfig, VifError};

use crate::engine::features::RequiredExtractor;
use crate::engine::ffi::{PlaneSamples, SharedPicture};
use crate::picture::PictureFormat;

/// A kernel refused pictures or options that were checked before, which is a defect of ours.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(transparent)]
    Vif(#[from] VifError),
    #[error(transparent)]
    Plane(#[from] InvalidPlane),
    #[error("the pictures of a pair have samples of different sizes")]
    Mixed,
}

/// What one thread needs to measure a pair, with all buffers.
pub(super) struct Kernels(Vec<Kernel>);

enum Kernel {
    Vif(Box<Vif>),
}

/// Whether there is a kernel for this extractor with these options.
pub(super) fn is_native(extractor: &RequiredExtractor) -> bool {
    matches!(extractor.name(), "vif") && !extractor.flag("vif_skip_scale0")
}

impl Kernels {
    /// For extractors that [`is_native`] accepts.
    pub(super) fn new(
        extractors: &[RequiredExtractor],
        format: PictureFormat,
        set: InstructionSet,
    ) -> Result<Self, KernelError> {
        extractors
            .iter()
            .map(|extractor| Kernel::new(extractor, format, set))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The values of all outputs of the extractors, in their order.
    pub(super) fn measure(
        &mut self,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<Vec<f64>, KernelError> {
        match (reference.plane(LUMA)?, distorted.plane(LUMA)?) {
            (PlaneSamples::Eight(reference), PlaneSamples::Eight(distorted)) => {
                self.measure_planes(&reference, &distorted)
            }
            (PlaneSamples::More(reference), PlaneSamples::More(distorted)) => {
                self.measure_planes(&reference, &distorted)
            }
            _ => Err(KernelError::Mixed),
        }
    }

    fn measure_planes<T: Sample>(
        &mut self,
        reference: &Plane<'_, T>,
        distorted: &Plane<'_, T>,
    ) -> Result<Vec<f64>, KernelError> {
        let mut values = Vec::new();
        for kernel in &mut self.0 {
            match kernel {
                Kernel::Vif(vif) => {
                    values.extend(vif.measure(reference, distorted)?.scales.map(|scale| scale.score()));
                }
            }
        }
        Ok(values)
    }
}

const LUMA: usize = 0;

impl Kernel {
    fn new(
        extractor: &RequiredExtractor,
        format: PictureFormat,
        set: InstructionSet,
    ) -> Result<Self, KernelError> {
        let (width, height, depth) = (format.width as usize, format.height as usize, format.depth.bits());
        Vif::new(&VifConfig {
            width,
            height,
            depth,
            enhancement_gain_limit: extractor.number("vif_enhn_gain_limit"),
            instruction_set: set,
        })
        .map(|vif| Self::Vif(Box::new(vif)))
        .map_err(KernelError::from)
    }
}
