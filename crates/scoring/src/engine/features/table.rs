//! libvmaf's extractors, as its sources define them.

/// An extractor.
#[derive(Debug)]
pub(in crate::engine) struct Extractor {
    /// Its name.
    pub(in crate::engine) name: &'static str,
    /// How it looks at time.
    pub(in crate::engine) kind: Kind,
    /// What it writes.
    pub(in crate::engine) features: &'static [Feature],
    /// The options it takes.
    pub(in crate::engine) options: &'static [Opt],
}

/// How an extractor looks at time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Kind {
    /// At one pair of frames: order and neighbours do not matter.
    Frame,
    /// At the reference alone, a few frames back and one ahead. Can be computed apart and imported.
    Motion,
}

/// Something an extractor writes.
#[derive(Debug)]
pub(in crate::engine) struct Feature {
    /// The name that models use, and libvmaf too when all options have their default.
    pub(in crate::engine) name: &'static str,
    /// The name in libvmaf's logs, and the start of its own when an option has another value.
    pub(in crate::engine) alias: &'static str,
}

/// An option of an extractor.
#[derive(Debug)]
pub(in crate::engine) struct Opt {
    /// Its name in a model.
    pub(in crate::engine) name: &'static str,
    /// Its short name in the names of features; nothing if it does not appear there.
    pub(in crate::engine) alias: Option<&'static str>,
    /// Its value when nothing is said.
    pub(in crate::engine) default: Default,
}

/// The value of an option when nothing is said.
#[derive(Debug)]
pub(in crate::engine) enum Default {
    No,
    Int(i32),
    Real(f64),
    Text(&'static str),
}

const fn feature(name: &'static str, alias: &'static str) -> Feature {
    Feature { name, alias }
}

const fn plain(name: &'static str) -> Feature {
    feature(name, name)
}

const fn opt(name: &'static str, alias: &'static str, default: Default) -> Opt {
    Opt { name, alias: Some(alias), default }
}

/// An option that libvmaf does not put into names: two extractors that differ only in it look the same to libvmaf.
const fn unnamed(name: &'static str, default: Default) -> Opt {
    Opt { name, alias: None, default }
}

/// Leaves out AIM, which only `adm3` and `aim` use.
pub(in crate::engine) const SKIP_AIM: &str = "adm_skip_aim";
/// What [`SKIP_AIM`] makes worthless.
pub(in crate::engine) const NEEDS_AIM: [&str; 2] =
    ["VMAF_integer_feature_aim_score", "VMAF_integer_feature_adm3_score"];
/// What motion is derived from at the end of a clip.
pub(in crate::engine) const MOTION_SAD: &str = "VMAF_integer_feature_motion_sad_score";

/// Every extractor of a libvmaf without the floating-point features, but for `speed_temporal`: with a scale above one it
/// writes past its buffers, and no built-in model uses it.
pub(in crate::engine) static EXTRACTORS: &[Extractor] = &[
    Extractor {
        name: "adm",
        kind: Kind::Frame,
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
            opt("adm_csf_scale", "scf", Default::Real(1.0)),
            opt("adm_csf_diag_scale", "scfd", Default::Real(1.0)),
            opt("adm_dlm_weight", "dlmw", Default::Real(0.5)),
            opt("adm_enhn_gain_limit", "egl", Default::Real(100.0)),
            opt("adm_norm_view_dist", "nvd", Default::Real(3.0)),
            opt("adm_ref_display_height", "rdh", Default::Int(1080)),
            opt("adm_csf_mode", "csf", Default::Int(0)),
            opt("adm_noise_weight", "nw", Default::Real(0.03125)),
            unnamed(SKIP_AIM, Default::No),
            opt("adm_skip_scale0", "ssz", Default::No),
            opt("adm_min_val", "min", Default::Real(0.0)),
        ],
    },
    Extractor {
        name: "vif",
        kind: Kind::Frame,
        features: &[
            feature("VMAF_integer_feature_vif_scale0_score", "integer_vif_scale0"),
            feature("VMAF_integer_feature_vif_scale1_score", "integer_vif_scale1"),
            feature("VMAF_integer_feature_vif_scale2_score", "integer_vif_scale2"),
            feature("VMAF_integer_feature_vif_scale3_score", "integer_vif_scale3"),
        ],
        options: &[
            opt("vif_enhn_gain_limit", "egl", Default::Real(100.0)),
            opt("vif_skip_scale0", "ssclz", Default::No),
        ],
    },
    Extractor {
        name: "motion",
        kind: Kind::Motion,
        features: &[
            plain(MOTION_SAD),
            feature("VMAF_integer_feature_motion2_score", "integer_motion2"),
            feature("VMAF_integer_feature_motion3_score", "integer_motion3"),
        ],
        options: &[
            opt("motion_force_zero", "force_0", Default::No),
            opt("motion_blend_factor", "mbf", Default::Real(1.0)),
            opt("motion_blend_offset", "mbo", Default::Real(40.0)),
            opt("motion_fps_weight", "mfw", Default::Real(1.0)),
            opt("motion_max_val", "mmxv", Default::Real(10_000.0)),
            opt("motion_five_frame_window", "mffw", Default::No),
            opt("motion_moving_average", "mma", Default::No),
        ],
    },
    Extractor {
        name: "cambi",
        kind: Kind::Frame,
        features: &[feature("Cambi_feature_cambi_score", "cambi")],
        options: &[
            opt("cambi_max_val", "cmxv", Default::Real(1000.0)),
            opt("enc_width", "encw", Default::Int(0)),
            opt("enc_height", "ench", Default::Int(0)),
            opt("enc_bitdepth", "encbd", Default::Int(0)),
            opt("src_width", "srcw", Default::Int(0)),
            opt("src_height", "srch", Default::Int(0)),
            opt("window_size", "ws", Default::Int(65)),
            opt("topk", "topk", Default::Real(0.6)),
            opt("cambi_topk", "ctpk", Default::Real(0.6)),
            opt("tvi_threshold", "tvit", Default::Real(0.019)),
            opt("cambi_vis_lum_threshold", "vlt", Default::Real(0.0)),
            opt("max_log_contrast", "mlc", Default::Int(2)),
            unnamed("full_ref", Default::No),
            opt("eotf", "eotf", Default::Text("bt1886")),
            opt("cambi_eotf", "ceot", Default::Text("bt1886")),
            opt("cambi_high_res_speedup", "hrs", Default::Int(0)),
        ],
    },
    Extractor {
        name: "speed_chroma",
        kind: Kind::Frame,
        features: &[
            feature("Speed_chroma_feature_speed_chroma_u_score", "speed_chroma_u"),
            feature("Speed_chroma_feature_speed_chroma_v_score", "speed_chroma_v"),
            feature("Speed_chroma_feature_speed_chroma_uv_score", "speed_chroma_uv"),
        ],
        options: &[
            opt("speed_kernelscale", "ks", Default::Real(1.0)),
            opt("speed_prescale", "ps", Default::Real(1.0)),
            opt("speed_prescale_method", "psm", Default::Text("nearest")),
            opt("speed_sigma_nn", "snn", Default::Real(0.29)),
            opt("speed_nn_floor", "nnf", Default::Real(0.0)),
            opt("speed_max_val", "mxv", Default::Real(1000.0)),
            opt("speed_weight_var_mode", "wvm", Default::Int(0)),
        ],
    },
    Extractor { name: "float_ssim", kind: Kind::Frame, features: &[plain("float_ssim")], options: &[] },
    Extractor { name: "float_ms_ssim", kind: Kind::Frame, features: &[plain("float_ms_ssim")], options: &[] },
    Extractor { name: "ciede", kind: Kind::Frame, features: &[plain("ciede2000")], options: &[] },
    Extractor {
        name: "psnr",
        kind: Kind::Frame,
        features: &[plain("psnr_y"), plain("psnr_cb"), plain("psnr_cr")],
        options: &[],
    },
    Extractor {
        name: "psnr_hvs",
        kind: Kind::Frame,
        features: &[plain("psnr_hvs_y"), plain("psnr_hvs_cb"), plain("psnr_hvs_cr"), plain("psnr_hvs")],
        options: &[],
    },
];

/// The extractor of this name.
pub(in crate::engine) fn by_name(name: &str) -> Option<&'static Extractor> {
    EXTRACTORS.iter().find(|extractor| extractor.name == name)
}

/// The extractor that computes this feature.
pub(in crate::engine) fn by_feature(name: &str) -> Option<&'static Extractor> {
    EXTRACTORS.iter().find(|extractor| extractor.features.iter().any(|feature| feature.name == name))
}
