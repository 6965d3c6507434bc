//! The size at which two clips are compared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_SCALED_SIDE;

/// Width and height in pixels, written `1920x1080`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameSize {
    pub width: u32,
    pub height: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be WIDTHxHEIGHT, such as 1920x1080")]
pub struct FrameSizeError;

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for FrameSize {
    type Err = FrameSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (width, height) = text.split_once(['x', 'X']).ok_or(FrameSizeError)?;
        let side = |text: &str| text.parse().ok().filter(|pixels| *pixels > 0).ok_or(FrameSizeError);
        Ok(Self { width: side(width)?, height: side(height)? })
    }
}

/// The size at which two clips are compared. Written `Reference`, `Distorted`, `Never` or `1920x1080` everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ScaleToDocument", into = "String")]
pub enum ScaleTo {
    /// The distorted clip is scaled to the size of the reference: what a viewer sees.
    #[default]
    Reference,
    /// The reference is scaled to the size of the distorted clip.
    Distorted,
    /// Neither is scaled: different sizes are an error.
    Never,
    /// Both are scaled to this size.
    Size(FrameSize),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be Reference, Distorted, Never or a size such as 1920x1080 with at most {MAX_SCALED_SIDE} pixels a side, not {0:?}"
)]
pub struct ScaleToError(String);

impl ScaleTo {
    /// A size within the limit.
    pub fn size(size: FrameSize) -> Result<Self, ScaleToError> {
        let fits = |pixels| (1..=MAX_SCALED_SIDE).contains(&pixels);
        if fits(size.width) && fits(size.height) {
            Ok(Self::Size(size))
        } else {
            Err(ScaleToError(size.to_string()))
        }
    }
}

impl fmt::Display for ScaleTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference => f.write_str("Reference"),
            Self::Distorted => f.write_str("Distorted"),
            Self::Never => f.write_str("Never"),
            Self::Size(size) => size.fmt(f),
        }
    }
}

impl FromStr for ScaleTo {
    type Err = ScaleToError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "reference" => Ok(Self::Reference),
            "distorted" => Ok(Self::Distorted),
            "never" => Ok(Self::Never),
            size => size.parse().map_err(|_| ScaleToError(text.to_owned())).and_then(Self::size),
        }
    }
}

impl From<ScaleTo> for String {
    fn from(scale: ScaleTo) -> Self {
        scale.to_string()
    }
}

/// Every form that a document may have: the text, and the objects that the HTTP API takes and that the first release
/// stored.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be Reference, Distorted, Never or a size such as 1920x1080")]
enum ScaleToDocument {
    Text(String),
    Size(FrameSize),
    Stored { size: FrameSize },
}

impl TryFrom<ScaleToDocument> for ScaleTo {
    type Error = ScaleToError;

    fn try_from(document: ScaleToDocument) -> Result<Self, Self::Error> {
        match document {
            ScaleToDocument::Text(text) => text.parse(),
            ScaleToDocument::Size(size) | ScaleToDocument::Stored { size } => Self::size(size),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ScaleTo {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ScaleTo".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // Four digits a side: everything the API server accepts can be decoded.
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn size(width: u32, height: u32) -> ScaleTo {
        ScaleTo::Size(FrameSize { width, height })
    }

    #[rstest]
    #[case("Reference", ScaleTo::Reference)]
    #[case("Distorted", ScaleTo::Distorted)]
    #[case("Never", ScaleTo::Never)]
    #[case("1920x1080", size(1920, 1080))]
    #[case("9999x1", size(9999, 1))]
    fn the_text_is_the_same_both_ways(#[case] text: &str, #[case] scale: ScaleTo) {
        assert_eq!(text.parse(), Ok(scale));
        assert_eq!(scale.to_string(), text);
        assert_eq!(serde_json::to_value(scale).unwrap(), text);
        assert_eq!(serde_json::from_value::<ScaleTo>(text.into()).unwrap(), scale);
    }

    #[rstest]
    #[case(json!("reference"), ScaleTo::Reference)]
    #[case(json!({"width": 640, "height": 360}), size(640, 360))]
    #[case(json!({"size": {"width": 640, "height": 360}}), size(640, 360))]
    fn documents_of_the_first_release_are_read(#[case] document: serde_json::Value, #[case] scale: ScaleTo) {
        assert_eq!(serde_json::from_value::<ScaleTo>(document).unwrap(), scale);
    }

    #[rstest]
    #[case("")]
    #[case("big")]
    #[case("0x9")]
    #[case("10000x1")]
    #[case("1920x")]
    #[case("1920x1080x3")]
    fn anything_else_is_refused_with_the_choice(#[case] text: &str) {
        let error = text.parse::<ScaleTo>().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "must be Reference, Distorted, Never or a size such as 1920x1080 with at most 9999 pixels a side, not {text:?}"
            )
        );
    }
}
