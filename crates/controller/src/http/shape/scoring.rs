//! What to score, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vmafx_api::job::PixelFormat;
use vmafx_queue::scoring as queue;

use super::PRINTABLE;

/// What to score, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scoring {
    /// Address of the undistorted clip, inside your scoring roots.
    #[schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE), example = "/clips/reference.y4m")]
    pub reference: String,
    /// Address of the clip that is judged.
    #[schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE), example = "/clips/distorted.y4m")]
    pub distorted: String,
    /// Name, file name or `oci://` reference of the model; empty: the node's default.
    #[serde(default)]
    #[schemars(length(max = 1024), regex(pattern = PRINTABLE), example = "vmaf_v0.6.1")]
    pub model: String,
    /// `cpu`, `cuda`, `sycl`, `hip` or `metal`; empty: any node.
    #[serde(default)]
    #[schemars(extend("enum" = ["", "cpu", "cuda", "sycl", "hip", "metal"]))]
    pub backend: String,
    /// Shape of raw YUV without a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawVideo>,
    /// Metrics besides those of the model: `psnr`, `ssim`, `ms-ssim`, `cambi`, `ciede`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(regex(pattern = "^(psnr|ssim|ms-ssim|cambi|ciede)$")))]
    pub features: Vec<String>,
    /// Score every n-th frame; 0 and 1: all.
    #[serde(default)]
    #[schemars(range(max = 10_000))]
    pub frame_step: u32,
    /// The size at which the clips are compared; left out: that of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_to: Option<ScaleTo>,
    /// When one clip has more frames; left out: the job fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_mismatch: Option<LengthMismatch>,
    /// Where the per-frame report is written; empty: nowhere.
    #[serde(default, rename = "reportURI", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096), regex(pattern = PRINTABLE))]
    pub report_uri: String,
}

/// Shape of raw YUV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawVideo {
    /// Pixels.
    #[schemars(range(min = 1, max = 65_535))]
    pub width: u32,
    /// Pixels.
    #[schemars(range(min = 1, max = 65_535))]
    pub height: u32,
    /// Planes.
    #[serde(default)]
    pub pixel_format: PixelFormat,
    /// 8, 10, 12 or 16.
    #[serde(default = "eight")]
    #[schemars(extend("enum" = [8, 10, 12, 16]))]
    pub bit_depth: u32,
}

fn eight() -> u32 {
    8
}

/// The size of a comparison: a rule, or a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScaleTo {
    /// A rule.
    Rule(ScaleRule),
    /// A size.
    Size(Size),
}

/// Which clip sets the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ScaleRule {
    /// The reference.
    Reference,
    /// The distorted clip.
    Distorted,
    /// None: different sizes fail the job.
    Never,
}

/// A size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Size {
    /// Pixels.
    #[schemars(range(min = 1, max = 9_999))]
    pub width: u32,
    /// Pixels.
    #[schemars(range(min = 1, max = 9_999))]
    pub height: u32,
}

/// When frame counts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LengthMismatch {
    /// The job fails.
    Fail,
    /// The shorter clip counts.
    Shortest,
}

impl From<Scoring> for queue::Scoring {
    fn from(asked: Scoring) -> Self {
        Self {
            reference: asked.reference,
            distorted: asked.distorted,
            model: asked.model,
            backend: asked.backend,
            input: asked.input.map(|raw| queue::RawVideo {
                width: raw.width,
                height: raw.height,
                pixel_format: match raw.pixel_format {
                    PixelFormat::Yuv420p => queue::PlaneLayout::Yuv420p,
                    PixelFormat::Yuv422p => queue::PlaneLayout::Yuv422p,
                    PixelFormat::Yuv444p => queue::PlaneLayout::Yuv444p,
                },
                bit_depth: raw.bit_depth,
            }),
            features: asked.features,
            frame_step: asked.frame_step,
            scale_to: asked.scale_to.map(|to| match to {
                ScaleTo::Rule(ScaleRule::Reference) => queue::ScaleTo::Reference,
                ScaleTo::Rule(ScaleRule::Distorted) => queue::ScaleTo::Distorted,
                ScaleTo::Rule(ScaleRule::Never) => queue::ScaleTo::Never,
                ScaleTo::Size(Size { width, height }) => queue::ScaleTo::Size { width, height },
            }),
            length_mismatch: asked.length_mismatch.map(|rule| match rule {
                LengthMismatch::Fail => queue::LengthMismatch::Fail,
                LengthMismatch::Shortest => queue::LengthMismatch::Shortest,
            }),
            report_uri: asked.report_uri,
        }
    }
}

impl From<&queue::Scoring> for Scoring {
    fn from(stored: &queue::Scoring) -> Self {
        Self {
            reference: stored.reference.clone(),
            distorted: stored.distorted.clone(),
            model: stored.model.clone(),
            backend: stored.backend.clone(),
            input: stored.input.map(|raw| RawVideo {
                width: raw.width,
                height: raw.height,
                pixel_format: match raw.pixel_format {
                    queue::PlaneLayout::Yuv420p => PixelFormat::Yuv420p,
                    queue::PlaneLayout::Yuv422p => PixelFormat::Yuv422p,
                    queue::PlaneLayout::Yuv444p => PixelFormat::Yuv444p,
                },
                bit_depth: raw.bit_depth,
            }),
            features: stored.features.clone(),
            frame_step: stored.frame_step,
            scale_to: stored.scale_to.map(|to| match to {
                queue::ScaleTo::Reference => ScaleTo::Rule(ScaleRule::Reference),
                queue::ScaleTo::Distorted => ScaleTo::Rule(ScaleRule::Distorted),
                queue::ScaleTo::Never => ScaleTo::Rule(ScaleRule::Never),
                queue::ScaleTo::Size { width, height } => ScaleTo::Size(Size { width, height }),
            }),
            length_mismatch: stored.length_mismatch.map(|rule| match rule {
                queue::LengthMismatch::Fail => LengthMismatch::Fail,
                queue::LengthMismatch::Shortest => LengthMismatch::Shortest,
            }),
            report_uri: stored.report_uri.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scoring_survives_the_way_there_and_back() {
        let asked = Scoring {
            reference: "/r".into(),
            distorted: "/d".into(),
            model: "m".into(),
            backend: "cpu".into(),
            input: Some(RawVideo { width: 1, height: 2, pixel_format: PixelFormat::Yuv444p, bit_depth: 10 }),
            features: vec!["psnr".into()],
            frame_step: 3,
            scale_to: Some(ScaleTo::Size(Size { width: 4, height: 5 })),
            length_mismatch: Some(LengthMismatch::Shortest),
            report_uri: "/p".into(),
        };
        assert_eq!(Scoring::from(&queue::Scoring::from(asked.clone())), asked);
    }
}
