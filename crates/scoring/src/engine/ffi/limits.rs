//! The number of names that a context can hold.
//!
//! libvmaf stores the values of each feature and each model under a name. The table of names starts with eight entries and is
//! enlarged, but never beyond 128, although its recorded capacity is doubled further: the 129th name is written past the end
//! of the allocation. A context therefore counts the names before they are written.

pub(super) const MAX_NAMES: usize = 128;

/// Number of names that an extractor writes without [`REFUSED_OPTIONS`]; `None` for an extractor that is not used here.
pub(super) fn names_of(extractor: &str) -> Option<usize> {
    Some(match extractor {
        "adm" => 7,
        "vif" | "psnr_hvs" => 4,
        "motion" | "speed_chroma" | "psnr" => 3,
        "cambi" | "float_ssim" | "float_ms_ssim" | "ciede" => 1,
        _ => return None,
    })
}

/// Options that write files, or more names than [`names_of`] counts.
pub(super) const REFUSED_OPTIONS: [&str; 5] =
    ["debug", "enable_lcs", "enable_mse", "enable_apsnr", "heatmaps_path"];

/// Number of names that a model writes: one for its score.
pub(super) const NAMES_OF_MODEL: usize = 1;

/// Number of names that a collection writes besides one per member: mean, deviation, and both ends of the interval.
pub(super) const NAMES_OF_COLLECTION: usize = 4;
