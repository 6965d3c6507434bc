//! How many names a context can hold.
//!
//! libvmaf keeps the values of each feature and each model under a name. The table of names starts with eight places and
//! is enlarged, but never beyond 128 although its recorded capacity goes on doubling: the 129th name is written past the
//! end of the allocation. A context therefore counts what may be written before it is.

/// The last name that fits.
pub(super) const MAX_NAMES: usize = 128;

/// Names that an extractor writes, without the debugging options that [`REFUSED_OPTIONS`] keeps out. Nothing for an
/// extractor that is not used here.
pub(super) fn names_of(extractor: &str) -> Option<usize> {
    Some(match extractor {
        "adm" => 7,
        "vif" | "psnr_hvs" => 4,
        "motion" | "speed_chroma" | "psnr" => 3,
        "cambi" | "float_ssim" | "float_ms_ssim" | "ciede" => 1,
        _ => return None,
    })
}

/// Options that write more names than [`names_of`] says, or files.
pub(super) const REFUSED_OPTIONS: [&str; 5] =
    ["debug", "enable_lcs", "enable_mse", "enable_apsnr", "heatmaps_path"];

/// Names that one model writes: its score.
pub(super) const NAMES_OF_MODEL: usize = 1;

/// Names that a collection writes besides one per member: mean, deviation, and both ends of the interval.
pub(super) const NAMES_OF_COLLECTION: usize = 4;
