//! The extractors and minimum sizes of the features that users request beside a score.

use vmafx_job::Feature;

use crate::picture::PictureFormat;

/// The extractor that computes a feature. This libvmaf has SSIM in floating point only, as ffmpeg's filter does.
pub(in crate::engine) const fn extractor_of(feature: Feature) -> &'static str {
    match feature {
        Feature::Psnr => "psnr",
        Feature::Ssim => "float_ssim",
        Feature::MsSsim => "float_ms_ssim",
        Feature::Cambi => "cambi",
        Feature::Ciede => "ciede",
        Feature::PsnrHvs => "psnr_hvs",
    }
}

/// The minimum size of a feature, if pictures of this format are below it.
pub(in crate::engine) fn unmet_minimum(feature: Feature, format: PictureFormat) -> Option<&'static str> {
    let (short, long) = (format.width.min(format.height), format.width.max(format.height));
    match feature {
        // Each of the five scales has half the size of the one before, and the last needs 11 pixels: 11 * 16.
        Feature::MsSsim if short < 176 => Some("at least 176 pixels in width and height"),
        Feature::Cambi if long < 216 => Some("at least 216 pixels in width or height"),
        _ => None,
    }
}
