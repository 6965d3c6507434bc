//! What to score, and how. Stored as JSON; the queue itself looks at nothing but the backend.

use serde::{Deserialize, Serialize};

/// A request for a score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Scoring {
    /// The undistorted clip.
    pub reference: String,
    /// The clip that is judged.
    pub distorted: String,
    /// Empty: the node's default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Empty: any node.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub backend: String,
    /// Shape of raw inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<RawVideo>,
    /// Metrics besides those of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Every n-th frame; 0 and 1 are all.
    #[serde(skip_serializing_if = "is_zero")]
    pub frame_step: u32,
    /// The size of the comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_to: Option<ScaleTo>,
    /// When one clip is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_mismatch: Option<LengthMismatch>,
    /// Where the per-frame report goes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub report_uri: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Shape of pictures without a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawVideo {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Planes.
    pub pixel_format: PlaneLayout,
    /// Bits per sample.
    pub bit_depth: u32,
}

/// Planes of a raw picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaneLayout {
    /// Chroma at half width and height.
    Yuv420p,
    /// Chroma at half width.
    Yuv422p,
    /// Chroma at full size.
    Yuv444p,
}

/// The size at which clips are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ScaleTo {
    /// That of the reference.
    Reference,
    /// That of the distorted clip.
    Distorted,
    /// Nothing is scaled.
    Never,
    /// This one.
    Size {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
}

/// What happens when frame counts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LengthMismatch {
    /// The job fails.
    Fail,
    /// The shorter clip counts.
    Shortest,
}
