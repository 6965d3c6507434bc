//! The shape of a YUV file that does not say it itself.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Geometry and sample format of a headerless planar YUV file.
#[derive(Clone, Debug, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawVideo {
    /// Width of the picture in pixels.
    #[schemars(range(min = 1, max = 65535))]
    pub width: i32,
    /// Height of the picture in pixels.
    #[schemars(range(min = 1, max = 65535))]
    pub height: i32,
    /// Chroma format.
    #[serde(default)]
    pub pixel_format: PixelFormat,
    /// Bits per sample: 8, 10, 12 or 16. More than 8 are stored in two bytes, low byte first.
    #[serde(default)]
    pub bit_depth: BitDepth,
}

/// Chroma format of planar YUV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PixelFormat {
    /// Chroma halved in both directions.
    #[default]
    Yuv420p,
    /// Chroma halved horizontally.
    Yuv422p,
    /// Full chroma.
    Yuv444p,
}

/// Bits per sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub enum BitDepth {
    /// 8 bits in one byte.
    #[default]
    Eight,
    /// 10 bits in two bytes.
    Ten,
    /// 12 bits in two bytes.
    Twelve,
    /// 16 bits in two bytes.
    Sixteen,
}

impl BitDepth {
    /// Every depth that the engine can read.
    pub const ALL: [Self; 4] = [Self::Eight, Self::Ten, Self::Twelve, Self::Sixteen];
}

impl From<BitDepth> for i32 {
    fn from(depth: BitDepth) -> Self {
        match depth {
            BitDepth::Eight => 8,
            BitDepth::Ten => 10,
            BitDepth::Twelve => 12,
            BitDepth::Sixteen => 16,
        }
    }
}

impl TryFrom<i32> for BitDepth {
    type Error = String;

    fn try_from(bits: i32) -> Result<Self, Self::Error> {
        Self::ALL
            .into_iter()
            .find(|depth| i32::from(*depth) == bits)
            .ok_or_else(|| format!("bitDepth must be 8, 10, 12 or 16, not {bits}"))
    }
}

impl schemars::JsonSchema for BitDepth {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BitDepth".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "format": "int32", "enum": Self::ALL.map(i32::from) })
    }
}
