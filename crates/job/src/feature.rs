//! Metrics beside VMAF.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::named::UnknownName;

/// A metric beside VMAF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Peak signal-to-noise ratio, per plane.
    Psnr,
    /// Structural similarity.
    Ssim,
    /// Structural similarity over several scales.
    MsSsim,
    /// Banding.
    Cambi,
    /// Colour difference (CIEDE2000).
    Ciede,
    /// PSNR weighted by the contrast sensitivity of the eye.
    PsnrHvs,
}

impl Feature {
    pub const ALL: [Self; 6] =
        [Self::Psnr, Self::Ssim, Self::MsSsim, Self::Cambi, Self::Ciede, Self::PsnrHvs];

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
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Feature {
    type Err = UnknownName;

    /// Accepts libvmaf's spellings too: `float_ssim`, `float_ms_ssim`, `ms_ssim`, `ciede2000`, `psnr_hvs`.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wanted = name.to_ascii_lowercase().replace('_', "-");
        let wanted = wanted.strip_prefix("float-").unwrap_or(&wanted);
        let wanted = if wanted == "ciede2000" { "ciede" } else { wanted };
        Self::ALL.into_iter().find(|feature| feature.name() == wanted).ok_or_else(|| UnknownName {
            name: name.to_owned(),
            what: "feature",
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("psnr", Feature::Psnr)]
    #[case("PSNR", Feature::Psnr)]
    #[case("float_ssim", Feature::Ssim)]
    #[case("float_ms_ssim", Feature::MsSsim)]
    #[case("ms_ssim", Feature::MsSsim)]
    #[case("ciede2000", Feature::Ciede)]
    #[case("psnr_hvs", Feature::PsnrHvs)]
    fn libvmaf_spellings_are_accepted(#[case] name: &str, #[case] feature: Feature) {
        assert_eq!(name.parse(), Ok(feature));
    }

    #[test]
    fn every_feature_has_one_spelling_everywhere() {
        for feature in Feature::ALL {
            assert_eq!(feature.name().parse(), Ok(feature));
            assert_eq!(serde_json::to_value(feature).unwrap(), feature.name());
        }
    }

    #[test]
    fn an_unknown_feature_is_refused_with_the_known_ones() {
        let error = "psnrr".parse::<Feature>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"psnrr\" is not a feature; use one of psnr, ssim, ms-ssim, cambi, ciede, psnr-hvs"
        );
    }
}
