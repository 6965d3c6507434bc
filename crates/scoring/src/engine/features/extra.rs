//! Measures that people want beside a score.

use std::fmt;
use std::str::FromStr;

use crate::picture::Format;

/// A measure beside the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExtraFeature {
    /// Peak signal-to-noise ratio of each plane: `psnr_y`, `psnr_cb`, `psnr_cr`.
    Psnr,
    /// Structural similarity of luma: `float_ssim`, the only one that this libvmaf has, and the one ffmpeg offers.
    Ssim,
    /// Structural similarity over five scales: `float_ms_ssim`.
    MsSsim,
    /// Banding: `cambi`.
    Cambi,
    /// Colour difference: `ciede2000`.
    Ciede,
    /// PSNR weighted by the sensitivity of the eye: `psnr_hvs` and one for each plane.
    PsnrHvs,
}

impl ExtraFeature {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Psnr, Self::Ssim, Self::MsSsim, Self::Cambi, Self::Ciede, Self::PsnrHvs];

    /// Its name, as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Psnr => "psnr",
            Self::Ssim => "ssim",
            Self::MsSsim => "ms-ssim",
            Self::Cambi => "cambi",
            Self::Ciede => "ciede",
            Self::PsnrHvs => "psnr-hvs",
        }
    }

    /// The extractor that computes it.
    pub(in crate::engine) const fn extractor(self) -> &'static str {
        match self {
            Self::Psnr => "psnr",
            Self::Ssim => "float_ssim",
            Self::MsSsim => "float_ms_ssim",
            Self::Cambi => "cambi",
            Self::Ciede => "ciede",
            Self::PsnrHvs => "psnr_hvs",
        }
    }

    /// What is wrong with this size, if something is.
    pub(in crate::engine) fn refuses(self, format: Format) -> Option<&'static str> {
        let (short, long) = (format.width.min(format.height), format.width.max(format.height));
        match self {
            // Five scales, each half of the one before, and 11 pixels must be left: 11 * 16.
            Self::MsSsim if short < 176 => Some("at least 176 pixels in width and height"),
            Self::Cambi if long < 216 => Some("at least 216 pixels in width or height"),
            _ => None,
        }
    }
}

impl fmt::Display for ExtraFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such feature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no feature {0:?}; there are psnr, ssim, ms-ssim, cambi, ciede and psnr-hvs")]
pub struct UnknownFeature(pub String);

impl FromStr for ExtraFeature {
    type Err = UnknownFeature;

    /// Takes libvmaf's names too: `float_ssim`, `float_ms_ssim`, `ms_ssim`, `ciede2000`, `psnr_hvs`.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wanted = name.to_ascii_lowercase().replace('_', "-");
        let wanted = wanted.strip_prefix("float-").unwrap_or(&wanted);
        let wanted = if wanted == "ciede2000" { "ciede" } else { wanted };
        Self::ALL
            .into_iter()
            .find(|feature| feature.name() == wanted)
            .ok_or_else(|| UnknownFeature(name.to_owned()))
    }
}
