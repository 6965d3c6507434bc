//! Geometry and sample format of a headerless clip.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::named::{UnknownName, named};

/// Geometry and sample format of a headerless planar YUV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RawVideo {
    /// Width of the picture in pixels.
    #[cfg_attr(feature = "schema", schemars(with = "i32", range(min = 1, max = 65535)))]
    pub width: u32,
    /// Height of the picture in pixels.
    #[cfg_attr(feature = "schema", schemars(with = "i32", range(min = 1, max = 65535)))]
    pub height: u32,
    /// Chroma format.
    #[serde(default)]
    pub pixel_format: PixelFormat,
    /// Bits per sample: 8, 10, 12 or 16. More than 8 are stored in two bytes, low byte first.
    #[serde(default)]
    pub bit_depth: BitDepth,
}

/// Chroma format of planar YUV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

named!(PixelFormat, "pixel format", { Yuv420p = "yuv420p", Yuv422p = "yuv422p", Yuv444p = "yuv444p" });

/// Bits per sample. More than eight are stored in two bytes, low byte first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum BitDepth {
    #[default]
    Eight,
    Ten,
    Twelve,
    Sixteen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 8, 10, 12 or 16, not {0}")]
pub struct BitDepthError(u32);

impl BitDepth {
    pub const ALL: [Self; 4] = [Self::Eight, Self::Ten, Self::Twelve, Self::Sixteen];

    pub const fn bits(self) -> u32 {
        match self {
            Self::Eight => 8,
            Self::Ten => 10,
            Self::Twelve => 12,
            Self::Sixteen => 16,
        }
    }

    /// Bytes that one sample takes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Eight => 1,
            _ => 2,
        }
    }
}

impl From<BitDepth> for u32 {
    fn from(depth: BitDepth) -> Self {
        depth.bits()
    }
}

impl TryFrom<u32> for BitDepth {
    type Error = BitDepthError;

    fn try_from(bits: u32) -> Result<Self, Self::Error> {
        Self::ALL.into_iter().find(|depth| depth.bits() == bits).ok_or(BitDepthError(bits))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for BitDepth {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BitDepth".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "integer",
            "format": "int32",
            "enum": Self::ALL.map(Self::bits),
        })
    }
}

/// Chroma format and bit depth in one word, as ffmpeg writes it: `yuv420p`, `yuv420p10le`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleFormat {
    pub pixel_format: PixelFormat,
    pub bit_depth: BitDepth,
}

impl fmt::Display for SampleFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bit_depth {
            BitDepth::Eight => self.pixel_format.fmt(f),
            deeper => write!(f, "{}{}le", self.pixel_format, deeper.bits()),
        }
    }
}

impl FromStr for SampleFormat {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = PixelFormat::ALL.into_iter().flat_map(|pixel_format| {
            BitDepth::ALL.into_iter().map(move |bit_depth| Self { pixel_format, bit_depth })
        });
        all.into_iter().find(|format| format.to_string() == name).ok_or_else(|| UnknownName {
            name: name.to_owned(),
            what: "pixel format",
            known: "yuv420p, yuv422p, yuv444p, each also with 10le, 12le or 16le behind it".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("yuv420p", PixelFormat::Yuv420p, BitDepth::Eight)]
    #[case("yuv422p10le", PixelFormat::Yuv422p, BitDepth::Ten)]
    #[case("yuv444p16le", PixelFormat::Yuv444p, BitDepth::Sixteen)]
    fn sample_formats_are_written_as_ffmpeg_does(
        #[case] text: &str,
        #[case] pixel_format: PixelFormat,
        #[case] bit_depth: BitDepth,
    ) {
        let format = SampleFormat { pixel_format, bit_depth };
        assert_eq!(text.parse(), Ok(format));
        assert_eq!(format.to_string(), text);
    }

    #[rstest]
    #[case("nv12")]
    #[case("yuv420p8le")]
    #[case("yuv420p10be")]
    fn another_sample_format_is_refused(#[case] text: &str) {
        let error = text.parse::<SampleFormat>().unwrap_err();
        assert!(error.to_string().contains("yuv422p"), "{error}");
    }

    #[test]
    fn a_size_is_all_that_must_be_said() {
        let raw: RawVideo = serde_json::from_value(json!({"width": 160, "height": 90})).unwrap();
        let expected = RawVideo {
            width: 160,
            height: 90,
            pixel_format: PixelFormat::Yuv420p,
            bit_depth: BitDepth::Eight,
        };
        assert_eq!(raw, expected);
    }

    #[test]
    fn another_bit_depth_is_refused_with_the_choice() {
        let raw = json!({"width": 160, "height": 90, "bitDepth": 9});
        let error = serde_json::from_value::<RawVideo>(raw).unwrap_err();
        assert!(error.to_string().contains("must be 8, 10, 12 or 16, not 9"), "{error}");
    }
}
