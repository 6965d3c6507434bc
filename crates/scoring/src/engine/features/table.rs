//! libvmaf's extractors as its sources define them.

#[derive(Debug)]
pub(in crate::engine) struct Extractor {
    pub(in crate::engine) name: &'static str,
    pub(in crate::engine) kind: ExtractorKind,
    pub(in crate::engine) features: &'static [FeatureNames],
    pub(in crate::engine) options: &'static [ExtractorOption],
}

/// Which frames an extractor depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum ExtractorKind {
    /// One pair of frames: order and neighbours do not matter.
    PerFrame,
    /// The reference alone, a few frames back and one ahead. Can be computed separately and imported.
    Motion,
}

#[derive(Debug)]
pub(in crate::engine) struct FeatureNames {
    /// The name in models, and in libvmaf if all options have their default.
    pub(in crate::engine) name: &'static str,
    /// The name in libvmaf's logs, and the start of the stored name if an option does not have its default.
    pub(in crate::engine) alias: &'static str,
}

#[derive(Debug)]
pub(in crate::engine) struct ExtractorOption {
    pub(in crate::engine) name: &'static str,
    /// The short name within names of features; `None` if the option is not part of them.
    pub(in crate::engine) alias: Option<&'static str>,
    pub(in crate::engine) default: OptionDefault,
}

/// The type and default value of an option. A boolean option is false by default.
#[derive(Debug)]
pub(in crate::engine) enum OptionDefault {
    No,
    Int(i32),
    Real(f64),
    Text(&'static str),
}

const fn feature(name: &'static str, alias: &'static str) -> FeatureNames {
    FeatureNames { name, alias }
}

const fn plain(name: &'static str) -> FeatureNames {
    feature(name, name)
}

const fn opt(name: &'static str, alias: &'static str, default: OptionDefault) -> ExtractorOption {
    ExtractorOption { name, alias: Some(alias), default }
}

/// An option that is not part of names: libvmaf cannot tell apart two extractors that differ only in it.
const fn unnamed(name: &'static str, default: OptionDefault) -> ExtractorOption {
    ExtractorOption { name, alias: None, default }
}

const fn without_options(name: &'static str, features: &'static [FeatureNames]) -> Extractor {
    Extractor { name, kind: ExtractorKind::PerFrame, features, options: &[] }
}

/// Skips AIM, which only `adm3` and `aim` need.
pub(in crate::engine) const SKIP_AIM: &str = "adm_skip_aim";
/// Features that are meaningless with [`SKIP_AIM`].
pub(in crate::engine) const NEEDS_AIM: [&str; 2] =
    ["VMAF_integer_feature_aim_score", "VMAF_integer_feature_adm3_score"];
/// Motion is derived from this at the end of a clip.
pub(in crate::engine) const MOTION_SAD: &str = "VMAF_integer_feature_motion_sad_score";

/// Every extractor of a libvmaf without floating-point features except `speed_temporal`, which writes past its buffers with a
/// scale above one and which no built-in model uses.
pub(in crate::engine) static EXTRACTORS: &[Extractor] = &[
    Extractor {
        name: "adm",
        kind: ExtractorKind::PerFrame,
        features: &[
            feature("VMAF_integer_feature_adm2_score", "integer_adm2"),
            feature("VMAF_integer_feature_aim_score", "integer_aim"),
            feature("VMAF_integer_feature_adm3_score", "integer_adm3"),
            plain("integer_adm_scale0"),
            plain("integer_adm_scale1"),
            plain("integer_adm_scale2"),
            plain("integer_adm_scale3"),
        ],
        options: &[
            opt("adm_csf_scale", "scf", OptionDefault::Real(1.0)),
            opt("adm_csf_diag_scale", "scfd", OptionDefault::Real(1.0)),
            opt("adm_dlm_weight", "dlmw", OptionDefault::Real(0.5)),
            opt("adm_enhn_gain_limit", "egl", OptionDefault::Real(100.0)),
            opt("adm_norm_view_dist", "nvd", OptionDefault::Real(3.0)),
            opt("adm_ref_display_height", "rdh", OptionDefault::Int(1080)),
            opt("adm_csf_mode", "csf", OptionDefault::Int(0)),
            opt("adm_noise_weight", "nw", OptionDefault::Real(0.03125)),
            unnamed(SKIP_AIM, OptionDefault::No),
            opt("adm_skip_scale0", "ssz", OptionDefault::No),
            opt("adm_min_val", "min", OptionDefault::Real(0.0)),
        ],
    },
    Extractor {
        name: "vif",
        kind: ExtractorKind::PerFrame,
        features: &[
            feature("VMAF_integer_feature_vif_scale0_score", "integer_vif_scale0"),
            feature("VMAF_integer_feature_vif_scale1_score", "integer_vif_scale1"),
            feature("VMAF_integer_feature_vif_scale2_score", "integer_vif_scale2"),
            feature("VMAF_integer_feature_vif_scale3_score", "integer_vif_scale3"),
        ],
        options: &[
            opt("vif_enhn_gain_limit", "egl", OptionDefault::Real(100.0)),
            opt("vif_skip_scale0", "ssclz", OptionDefault::No),
        ],
    },
    Extractor {
        name: "motion",
        kind: ExtractorKind::Motion,
        features: &[
            plain(MOTION_SAD),
            feature("VMAF_integer_feature_motion2_score", "integer_motion2"),
            feature("VMAF_integer_feature_motion3_score", "integer_motion3"),
        ],
        options: &[
            opt("motion_force_zero", "force_0", OptionDefault::No),
            opt("motion_blend_factor", "mbf", OptionDefault::Real(1.0)),
            opt("motion_blend_offset", "mbo", OptionDefault::Real(40.0)),
            opt("motion_fps_weight", "mfw", OptionDefault::Real(1.0)),
            opt("motion_max_val", "mmxv", OptionDefault::Real(10_000.0)),
            opt("motion_five_frame_window", "mffw", OptionDefault::No),
            opt("motion_moving_average", "mma", OptionDefault::No),
        ],
    },
    Extractor {
        name: "cambi",
        kind: ExtractorKind::PerFrame,
        features: &[feature("Cambi_feature_cambi_score", "cambi")],
        options: &[
            opt("cambi_max_val", "cmxv", OptionDefault::Real(1000.0)),
            opt("enc_width", "encw", OptionDefault::Int(0)),
            opt("enc_height", "ench", OptionDefault::Int(0)),
            opt("enc_bitdepth", "encbd", OptionDefault::Int(0)),
            opt("src_width", "srcw", OptionDefault::Int(0)),
            opt("src_height", "srch", OptionDefault::Int(0)),
            opt("window_size", "ws", OptionDefault::Int(65)),
            opt("topk", "topk", OptionDefault::Real(0.6)),
            opt("cambi_topk", "ctpk", OptionDefault::Real(0.6)),
            opt("tvi_threshold", "tvit", OptionDefault::Real(0.019)),
            opt("cambi_vis_lum_threshold", "vlt", OptionDefault::Real(0.0)),
            opt("max_log_contrast", "mlc", OptionDefault::Int(2)),
            unnamed("full_ref", OptionDefault::No),
            opt("eotf", "eotf", OptionDefault::Text("bt1886")),
            opt("cambi_eotf", "ceot", OptionDefault::Text("bt1886")),
            opt("cambi_high_res_speedup", "hrs", OptionDefault::Int(0)),
        ],
    },
    Extractor {
        name: "speed_chroma",
        kind: ExtractorKind::PerFrame,
        features: &[
            feature("Speed_chroma_feature_speed_chroma_u_score", "speed_chroma_u"),
            feature("Speed_chroma_feature_speed_chroma_v_score", "speed_chroma_v"),
            feature("Speed_chroma_feature_speed_chroma_uv_score", "speed_chroma_uv"),
        ],
        options: &[
            opt("speed_kernelscale", "ks", OptionDefault::Real(1.0)),
            opt("speed_prescale", "ps", OptionDefault::Real(1.0)),
            opt("speed_prescale_method", "psm", OptionDefault::Text("nearest")),
            opt("speed_sigma_nn", "snn", OptionDefault::Real(0.29)),
            opt("speed_nn_floor", "nnf", OptionDefault::Real(0.0)),
            opt("speed_max_val", "mxv", OptionDefault::Real(1000.0)),
            opt("speed_weight_var_mode", "wvm", OptionDefault::Int(0)),
        ],
    },
    without_options("float_ssim", &[plain("float_ssim")]),
    without_options("float_ms_ssim", &[plain("float_ms_ssim")]),
    without_options("ciede", &[plain("ciede2000")]),
    without_options("psnr", &[plain("psnr_y"), plain("psnr_cb"), plain("psnr_cr")]),
    without_options(
        "psnr_hvs",
        &[plain("psnr_hvs_y"), plain("psnr_hvs_cb"), plain("psnr_hvs_cr"), plain("psnr_hvs")],
    ),
];

pub(in crate::engine) fn by_name(name: &str) -> Option<&'static Extractor> {
    EXTRACTORS.iter().find(|extractor| extractor.name == name)
}

/// The extractor that computes this feature.
pub(in crate::engine) fn by_feature(name: &str) -> Option<&'static Extractor> {
    EXTRACTORS.iter().find(|extractor| extractor.features.iter().any(|feature| feature.name == name))
}
