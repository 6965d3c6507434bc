//! The choice of `auto`.
//!
//! VMAF v1 is the current generation, so `auto` chooses it for every picture that is large enough.
//!
//! | picture                          | below 48 frames a second | from 48 frames a second      |
//! |----------------------------------|--------------------------|------------------------------|
//! | too small for v1                 | `vmaf_v0.6.1`            | `vmaf_v0.6.1`                |
//! | up to 1080 lines                 | `vmaf_v1.0.16_3d0h`      | `vmaf_v1.0.16_hfr_3d0h`      |
//! | more than 1080 lines             | `vmaf_v1.0.16_1d5h_2160` | `vmaf_v1.0.16_hfr_1d5h_2160` |

use super::Model;
use crate::picture::PictureFormat;

/// The lowest frame rate of the models for high frame rates.
const HIGH_FRAME_RATE: f64 = 48.0;

pub(super) struct AutoPick {
    pub(super) name: &'static str,
    pub(super) because: String,
}

pub(super) fn pick(format: PictureFormat, frame_rate: Option<f64>) -> AutoPick {
    let tall = format.height > 1080;
    // Most clips of unknown frame rate have an ordinary one.
    let fast = frame_rate.is_some_and(|rate| rate >= HIGH_FRAME_RATE);
    let name = match (tall, fast) {
        (false, false) => "vmaf_v1.0.16_3d0h",
        (false, true) => "vmaf_v1.0.16_hfr_3d0h",
        (true, false) => "vmaf_v1.0.16_1d5h_2160",
        (true, true) => "vmaf_v1.0.16_hfr_1d5h_2160",
    };
    let too_small = Model::named(name).ok().and_then(|model| model.document.unmet_minimum(format));
    if let Some(needs) = too_small {
        let because =
            format!("{}x{} is too small for VMAF v1, which needs {needs}", format.width, format.height);
        return AutoPick { name: "vmaf_v0.6.1", because };
    }
    let lines = if tall { "more than 1080 lines" } else { "up to 1080 lines" };
    let rate = match frame_rate {
        Some(rate) if fast => format!("{rate} frames a second, which is 48 or more"),
        Some(rate) => format!("{rate} frames a second, which is below 48"),
        None => "an unknown frame rate".to_owned(),
    };
    AutoPick { name, because: format!("{} lines are {lines}, at {rate}", format.height) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_job::{BitDepth, PixelFormat};

    use super::*;

    #[rstest]
    #[case(160, 90, Some(24.0), "vmaf_v0.6.1")]
    #[case(1280, 720, None, "vmaf_v1.0.16_3d0h")]
    #[case(1920, 1080, Some(47.95), "vmaf_v1.0.16_3d0h")]
    #[case(1920, 1080, Some(48.0), "vmaf_v1.0.16_hfr_3d0h")]
    #[case(2560, 1440, Some(25.0), "vmaf_v1.0.16_1d5h_2160")]
    #[case(3840, 2160, Some(59.94), "vmaf_v1.0.16_hfr_1d5h_2160")]
    fn height_and_frame_rate_decide(
        #[case] width: u32,
        #[case] height: u32,
        #[case] rate: Option<f64>,
        #[case] expected: &str,
    ) {
        let format = PictureFormat { width, height, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
        let pick = pick(format, rate);
        assert_eq!(pick.name, expected);
        assert!(pick.because.contains(&height.to_string()), "{}", pick.because);
    }
}
