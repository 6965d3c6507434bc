//! Options of libvmaf's extractors as configurations of our kernels.

use vmafx_job::PixelFormat;
use vmafx_kernels::{
    Adm, AdmConfig, AdmOptions, CambiConfig, CambiOptions, ContrastSensitivity, HalveFrom, InstructionSet,
    MaskingOverflow, MotionConfig, MotionOptions, Prescale, PrescaleMethod, SpeedConfig, SpeedOptions,
    SummationOrder, VarianceWeighting, VifConfig,
};

use crate::engine::features::RequiredExtractor;
use crate::picture::PictureFormat;

pub(super) enum KernelConfig {
    Adm(AdmConfig),
    Cambi(CambiConfig),
    Speed(SpeedConfig),
    Vif(VifConfig),
}

impl KernelConfig {
    /// `None` if no kernel has the options of the extractor, or the bits of libvmaf at this size.
    pub(super) fn new(
        extractor: &RequiredExtractor,
        format: PictureFormat,
        instruction_set: InstructionSet,
    ) -> Option<Self> {
        let (width, height, depth) = luma(format);
        match extractor.name() {
            "adm" if Adm::is_consistent_in_libvmaf(width) => {
                let options = adm_options(extractor)?;
                let overflow = MaskingOverflow::of_libvmaf();
                Some(Self::Adm(AdmConfig { width, height, depth, options, overflow, instruction_set }))
            }
            "cambi" => {
                let options = cambi_options(extractor)?;
                Some(Self::Cambi(CambiConfig { width, height, depth, options, instruction_set }))
            }
            "speed_chroma" => {
                // As libvmaf, which rounds down.
                let (width, height) = match format.chroma {
                    PixelFormat::Yuv420p => (width / 2, height / 2),
                    PixelFormat::Yuv422p => (width / 2, height),
                    PixelFormat::Yuv444p => (width, height),
                };
                let (options, order) = (speed_options(extractor)?, SummationOrder::of_libvmaf());
                Some(Self::Speed(SpeedConfig { width, height, depth, options, order, instruction_set }))
            }
            "vif" if !extractor.flag("vif_skip_scale0") => {
                let enhancement_gain_limit = extractor.number("vif_enhn_gain_limit");
                Some(Self::Vif(VifConfig { width, height, depth, enhancement_gain_limit, instruction_set }))
            }
            _ => None,
        }
    }
}

fn luma(format: PictureFormat) -> (usize, usize, u32) {
    (format.width as usize, format.height as usize, format.depth.bits())
}

fn adm_options(extractor: &RequiredExtractor) -> Option<AdmOptions> {
    let unsupported = ["adm_csf_scale", "adm_csf_diag_scale", "adm_skip_scale0"];
    if unsupported.iter().any(|option| !extractor.has_default(option)) {
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

fn cambi_options(extractor: &RequiredExtractor) -> Option<CambiOptions> {
    let unsupported = [
        "enc_width",
        "enc_height",
        "enc_bitdepth",
        "src_width",
        "src_height",
        "topk",
        "cambi_topk",
        "full_ref",
        "eotf",
        "cambi_eotf",
    ];
    if unsupported.iter().any(|option| !extractor.has_default(option)) {
        return None;
    }
    Some(CambiOptions {
        max_value: extractor.number("cambi_max_val"),
        window: whole(extractor.number("window_size"))?,
        tvi_threshold: extractor.number("tvi_threshold"),
        luminance_threshold: extractor.number("cambi_vis_lum_threshold"),
        max_log_contrast: whole(extractor.number("max_log_contrast"))?,
        halve_from: match whole(extractor.number("cambi_high_res_speedup"))? {
            0 => None,
            1080 => Some(HalveFrom::P1080),
            1440 => Some(HalveFrom::P1440),
            2160 => Some(HalveFrom::P2160),
            _ => return None,
        },
        ..CambiOptions::default()
    })
}

fn speed_options(extractor: &RequiredExtractor) -> Option<SpeedOptions> {
    let weighting = usize::try_from(whole(extractor.number("speed_weight_var_mode"))?).ok()?;
    Some(SpeedOptions {
        prescale: Prescale {
            factor: extractor.number("speed_prescale"),
            method: match extractor.text("speed_prescale_method")? {
                "nearest" => PrescaleMethod::Nearest,
                "bilinear" => PrescaleMethod::Bilinear,
                _ => return None,
            },
        },
        sigma: extractor.number("speed_sigma_nn"),
        noise_floor: extractor.number("speed_nn_floor"),
        max_value: extractor.number("speed_max_val"),
        weighting: *VarianceWeighting::ALL.get(weighting)?,
    })
}

/// The configuration of motion, which is measured on the reference alone.
pub(super) fn motion(
    extractor: &RequiredExtractor,
    format: PictureFormat,
    instruction_set: InstructionSet,
) -> MotionConfig {
    let (width, height, depth) = luma(format);
    let options = MotionOptions {
        force_zero: extractor.flag("motion_force_zero"),
        blend_factor: extractor.number("motion_blend_factor"),
        blend_offset: extractor.number("motion_blend_offset"),
        fps_weight: extractor.number("motion_fps_weight"),
        max_value: extractor.number("motion_max_val"),
        five_frame_window: extractor.flag("motion_five_frame_window"),
        moving_average: extractor.flag("motion_moving_average"),
    };
    MotionConfig { width, height, depth, options, instruction_set }
}

/// The number, if it is a whole one.
fn whole(number: f64) -> Option<u32> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Checked by converting back.
    let whole = number as u32;
    (f64::from(whole).to_bits() == number.to_bits()).then_some(whole)
}
