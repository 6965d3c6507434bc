//! The kernels of one thread.

use vmafx_kernels::{
    Adm, AdmError, Cambi, CambiError, InstructionSet, InvalidPlane, MotionError, Plane, PlaneSample, Speed,
    SpeedError, Vif, VifError,
};

use super::config::KernelConfig;
use crate::engine::features::RequiredExtractor;
use crate::engine::ffi::{PicturePlanes, SharedPicture};
use crate::picture::PictureFormat;

/// A kernel refused a picture, or options that were checked before.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(transparent)]
    Adm(#[from] AdmError),
    #[error(transparent)]
    Cambi(#[from] CambiError),
    #[error(transparent)]
    Motion(#[from] MotionError),
    #[error(transparent)]
    Speed(#[from] SpeedError),
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
    Adm(Box<Adm>),
    Cambi(Box<Cambi>),
    Speed(Box<Speed>),
    Vif(Box<Vif>),
}

/// Whether there is a kernel for this extractor with its options at this size.
pub(super) fn is_native(extractor: &RequiredExtractor, format: PictureFormat) -> bool {
    let config = KernelConfig::new(extractor, format, InstructionSet::Scalar);
    config.is_some_and(|config| Kernel::new(&config).is_ok())
}

impl Kernels {
    /// For extractors that [`is_native`] accepts; others have no values.
    pub(super) fn new(
        extractors: &[RequiredExtractor],
        format: PictureFormat,
        set: InstructionSet,
    ) -> Result<Self, KernelError> {
        let configs = extractors.iter().filter_map(|extractor| KernelConfig::new(extractor, format, set));
        configs.map(|config| Kernel::new(&config)).collect::<Result<_, _>>().map(Self)
    }

    /// The values of all outputs of the extractors, in their order.
    pub(super) fn measure(
        &mut self,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<Vec<f64>, KernelError> {
        let mut values = Vec::new();
        for kernel in &mut self.0 {
            match (reference.planes()?, distorted.planes()?) {
                (PicturePlanes::Bytes(reference), PicturePlanes::Bytes(distorted)) => {
                    kernel.measure(&reference, &distorted, &mut values)?;
                }
                (PicturePlanes::Words(reference), PicturePlanes::Words(distorted)) => {
                    kernel.measure(&reference, &distorted, &mut values)?;
                }
                _ => return Err(KernelError::Mixed),
            }
        }
        Ok(values)
    }
}

impl Kernel {
    fn new(config: &KernelConfig) -> Result<Self, KernelError> {
        Ok(match config {
            KernelConfig::Adm(config) => Self::Adm(Box::new(Adm::new(config)?)),
            KernelConfig::Cambi(config) => Self::Cambi(Box::new(Cambi::new(config)?)),
            KernelConfig::Speed(config) => Self::Speed(Box::new(Speed::new(config)?)),
            KernelConfig::Vif(config) => Self::Vif(Box::new(Vif::new(config)?)),
        })
    }

    /// Appends the values in the order of the extractor's outputs.
    fn measure<T: PlaneSample>(
        &mut self,
        reference: &[Plane<'_, T>; 3],
        distorted: &[Plane<'_, T>; 3],
        values: &mut Vec<f64>,
    ) -> Result<(), KernelError> {
        match self {
            Self::Adm(adm) => {
                let scores = adm.measure(&reference[0], &distorted[0])?;
                values.push(scores.adm2);
                values.extend(scores.aim.into_iter().chain(scores.adm3));
                values.extend(scores.scales.map(|scale| scale.score()));
            }
            Self::Cambi(cambi) => values.push(cambi.measure(&distorted[0])?.cambi),
            Self::Speed(speed) => {
                let [_, reference @ ..] = reference.each_ref();
                let [_, distorted @ ..] = distorted.each_ref();
                let scores = speed.measure(reference, distorted)?;
                values.extend([scores.u, scores.v, scores.uv]);
            }
            Self::Vif(vif) => {
                values.extend(vif.measure(&reference[0], &distorted[0])?.scales.map(|scale| scale.score()));
            }
        }
        Ok(())
    }
}
