//! The kernels of one thread.

use vmafx_kernels::{
    Adm, AdmConfig, AdmError, AdmOptions, ContrastSensitivity, InstructionSet, InvalidPlane, Plane, Sample,
    Vif, VifConfig, VifError,
};

use crate::engine::features::RequiredExtractor;
use crate::engine::ffi::{PlaneSamples, SharedPicture};
use crate::picture::PictureFormat;

/// A kernel refused pictures or options that were checked before, which is a defect of ours.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(transparent)]
    Adm(#[from] AdmError),
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
    Vif(Box<Vif>),
}

/// The configuration of a kernel. `None` if there is none for the extractor with its options at this size.
enum KernelConfig {
    Adm(AdmConfig),
    Vif(VifConfig),
}

/// Whether there is a kernel for this extractor with its options at this size.
pub(super) fn is_native(extractor: &RequiredExtractor, format: PictureFormat) -> bool {
    KernelConfig::new(extractor, format, InstructionSet::Scalar).is_some()
}

impl Kernels {
    /// For extractors that [`is_native`] accepts; others have no values.
    pub(super) fn new(
        extractors: &[RequiredExtractor],
        format: PictureFormat,
        set: InstructionSet,
    ) -> Result<Self, KernelError> {
        extractors
            .iter()
            .filter_map(|extractor| KernelConfig::new(extractor, format, set))
            .map(|config| Kernel::new(&config))
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
                Kernel::Adm(adm) => {
                    let scores = adm.measure(reference, distorted)?;
                    values.push(scores.adm2);
                    values.extend(scores.aim.into_iter().chain(scores.adm3));
                    values.extend(scores.scales.map(|scale| scale.score()));
                }
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
    fn new(config: &KernelConfig) -> Result<Self, KernelError> {
        Ok(match config {
            KernelConfig::Adm(config) => Self::Adm(Box::new(Adm::new(config)?)),
            KernelConfig::Vif(config) => Self::Vif(Box::new(Vif::new(config)?)),
        })
    }
}

impl KernelConfig {
    fn new(
        extractor: &RequiredExtractor,
        format: PictureFormat,
        instruction_set: InstructionSet,
    ) -> Option<Self> {
        let (width, height, depth) = (format.width as usize, format.height as usize, format.depth.bits());
        match extractor.name() {
            "adm" if Adm::is_consistent_in_libvmaf(width) => {
                let options = adm_options(extractor)?;
                Some(Self::Adm(AdmConfig { width, height, depth, options, instruction_set }))
            }
            "vif" if !extractor.flag("vif_skip_scale0") => {
                let enhancement_gain_limit = extractor.number("vif_enhn_gain_limit");
                Some(Self::Vif(VifConfig { width, height, depth, enhancement_gain_limit, instruction_set }))
            }
            _ => None,
        }
    }
}

/// `None` if the kernel lacks an option.
fn adm_options(extractor: &RequiredExtractor) -> Option<AdmOptions> {
    let is_one = |option: &str| extractor.number(option).to_bits() == 1_f64.to_bits();
    if !is_one("adm_csf_scale") || !is_one("adm_csf_diag_scale") || extractor.flag("adm_skip_scale0") {
        return None;
    }
    Some(AdmOptions {
        enhancement_gain_limit: whole(extractor.number("adm_enhn_gain_limit"))?,
        dlm_weight: extractor.number("adm_dlm_weight"),
        noise_weight: extractor.number("adm_noise_weight"),
        view_distance: extractor.number("adm_norm_view_dist"),
        display_height: whole(extractor.number("adm_ref_display_height"))?,
        contrast_sensitivity: match whole(extractor.number("adm_csf_mode"))? {
            0 => ContrastSensitivity::Watson,
            2 => ContrastSensitivity::BartenWatson,
            _ => return None,
        },
        min_value: extractor.number("adm_min_val"),
        skip_aim: extractor.skips_aim(),
    })
}

/// The number, if it is a whole one.
fn whole(number: f64) -> Option<u32> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Checked by converting back.
    let whole = number as u32;
    (f64::from(whole).to_bits() == number.to_bits()).then_some(whole)
}
