//! How frames are chosen, paired and compared.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the comparison. The defaults compare every frame at the size of the reference.
#[derive(Clone, Debug, Default, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoringOptions {
    /// Further metrics to compute in the same pass; they appear in the report beside the score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub features: Vec<Feature>,

    /// Score every n-th frame only. 1 scores all of them; larger steps are faster and less exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub frame_step: Option<i32>,

    /// The size at which the clips are compared: Reference (the default) scales the distorted clip to the reference's
    /// size, Distorted the other way round, Never fails the job when the sizes differ, and a size such as 1920x1080
    /// scales both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_to: Option<ScaleTo>,

    /// What to do when one clip has more frames than the other: Fail (the default) or score the Shortest common part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_mismatch: Option<LengthMismatch>,
}

/// A metric beside VMAF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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
}

/// What to do with clips of unequal length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(transform = crate::crd::described_by_its_field)]
pub enum LengthMismatch {
    /// Fail the job and name both lengths.
    #[default]
    Fail,
    /// Score the frames that both clips have.
    Shortest,
}

/// The size at which two clips are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ScaleTo {
    /// The size of the reference.
    #[default]
    Reference,
    /// The size of the distorted clip.
    Distorted,
    /// Neither is scaled: different sizes are an error.
    Never,
    /// Both are scaled to this size.
    Size {
        /// Width in pixels.
        width: u16,
        /// Height in pixels.
        height: u16,
    },
}

impl fmt::Display for ScaleTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference => f.write_str("Reference"),
            Self::Distorted => f.write_str("Distorted"),
            Self::Never => f.write_str("Never"),
            Self::Size { width, height } => write!(f, "{width}x{height}"),
        }
    }
}

impl FromStr for ScaleTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "Reference" => Ok(Self::Reference),
            "Distorted" => Ok(Self::Distorted),
            "Never" => Ok(Self::Never),
            size => parse_size(size).ok_or_else(|| {
                format!(
                    "scaleTo must be Reference, Distorted, Never or a size such as 1920x1080, not {size:?}"
                )
            }),
        }
    }
}

fn parse_size(text: &str) -> Option<ScaleTo> {
    let (width, height) = text.split_once('x')?;
    let (width, height) = (width.parse().ok()?, height.parse().ok()?);
    (width > 0 && height > 0).then_some(ScaleTo::Size { width, height })
}

impl TryFrom<String> for ScaleTo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ScaleTo> for String {
    fn from(scale: ScaleTo) -> Self {
        scale.to_string()
    }
}

impl schemars::JsonSchema for ScaleTo {
    fn schema_name() -> Cow<'static, str> {
        "ScaleTo".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // Four digits a side: every size that matches also fits the type, so nothing the API server accepts is
        // undecodable for us.
        schemars::json_schema!({
            "type": "string",
            "x-kubernetes-validations": [{
                "rule": "self.matches('^(Reference|Distorted|Never|[1-9][0-9]{0,3}x[1-9][0-9]{0,3})$')",
                "message": "must be Reference, Distorted, Never or a size such as 1920x1080",
            }],
            "maxLength": 16,
        })
    }
}
