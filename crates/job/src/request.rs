//! What to score, and how.

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_MODEL_LENGTH, MAX_RAW_SIDE, MAX_REQUESTED_FEATURES, MAX_URI_LENGTH};
use crate::{Backend, RawVideo, ReportFormat, ScoringOptions};

/// Texts that machines read have no control characters.
#[cfg(feature = "schema")]
const PRINTABLE: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// What to score, and how. As JSON it is what the queue stores and what `vmafx-node run-once` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ScoringRequest {
    /// URI or absolute path of the reference clip.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE)))]
    pub reference: String,
    /// URI or absolute path of the distorted clip, which is scored against the reference.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 4096), regex(pattern = PRINTABLE)))]
    pub distorted: String,
    /// Name, file name or `oci://` reference of the model; left out: the node's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 1024), regex(pattern = PRINTABLE)))]
    pub model: Option<String>,
    /// Backend that the node must serve; left out: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Describes clips without a header. A clip that has one is read by its header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawVideo>,
    #[serde(flatten)]
    pub options: ScoringOptions,
    /// Where the per-frame report is written; left out: nowhere.
    #[serde(rename = "reportURI", alias = "reportUri", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4096), regex(pattern = PRINTABLE)))]
    pub report_uri: Option<String>,
    /// Whether the report may overwrite what is at `reportURI`; left out: it is refused, unless it has the same bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite_report: bool,
}

/// A field that cannot be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidRequest {
    /// As the wire calls it, such as `report_uri`.
    pub field: String,
    pub problem: String,
}

impl InvalidRequest {
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

impl ScoringRequest {
    /// The name of the backend, empty when any will do: as the wire and the stores spell it.
    pub fn backend_name(&self) -> &'static str {
        self.backend.map_or("", Backend::name)
    }

    /// Checks what the types do not: lengths of texts, the bounds of numbers, the format of the report.
    pub fn check(&self) -> Result<(), InvalidRequest> {
        for (field, uri) in [("reference", &self.reference), ("distorted", &self.distorted)] {
            if uri.is_empty() {
                return Err(InvalidRequest::new(field, "is required"));
            }
            text(field, uri, MAX_URI_LENGTH)?;
        }
        if let Some(uri) = &self.report_uri {
            text("report_uri", uri, MAX_URI_LENGTH)?;
            ReportFormat::of_uri(uri)
                .map_err(|error| InvalidRequest::new("report_uri", error.to_string()))?;
        }
        if let Some(model) = &self.model {
            text("model", model, MAX_MODEL_LENGTH)?;
        }
        if self.options.features.len() > MAX_REQUESTED_FEATURES {
            let problem = format!("must have at most {MAX_REQUESTED_FEATURES} items");
            return Err(InvalidRequest::new("features", problem));
        }
        if let Some(input) = &self.input {
            for (field, side) in [("input.width", input.width), ("input.height", input.height)] {
                if !(1..=MAX_RAW_SIDE).contains(&side) {
                    let problem = format!("must be between 1 and {MAX_RAW_SIDE}");
                    return Err(InvalidRequest::new(field, problem));
                }
            }
        }
        Ok(())
    }
}

fn text(field: &str, text: &str, max_length: usize) -> Result<(), InvalidRequest> {
    if text.chars().count() > max_length {
        return Err(InvalidRequest::new(field, format!("must have at most {max_length} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(InvalidRequest::new(field, "must not contain control characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::{BitDepth, PixelFormat};

    fn request() -> ScoringRequest {
        ScoringRequest {
            reference: "/clips/r".to_owned(),
            distorted: "/clips/d".to_owned(),
            ..ScoringRequest::default()
        }
    }

    #[test]
    fn a_request_that_the_first_release_stored_is_read() {
        let stored = json!({
            "reference": "/clips/r", "distorted": "/clips/d", "model": "vmaf_v0.6.1", "backend": "cpu",
            "input": {"width": 160, "height": 90, "pixelFormat": "yuv422p", "bitDepth": 10},
            "features": ["psnr"], "frameStep": 2, "scaleTo": {"size": {"width": 64, "height": 32}},
            "lengthMismatch": "shortest", "reportUri": "/clips/r.csv",
        });
        let expected = ScoringRequest {
            model: Some("vmaf_v0.6.1".to_owned()),
            backend: Some(Backend::Cpu),
            input: Some(RawVideo {
                width: 160,
                height: 90,
                pixel_format: PixelFormat::Yuv422p,
                bit_depth: BitDepth::Ten,
            }),
            options: serde_json::from_value(json!({
                "features": ["psnr"], "frameStep": 2, "scaleTo": "64x32", "lengthMismatch": "Shortest",
            }))
            .unwrap(),
            report_uri: Some("/clips/r.csv".to_owned()),
            ..request()
        };
        assert_eq!(serde_json::from_value::<ScoringRequest>(stored).unwrap(), expected);
        let again = serde_json::to_value(&expected).unwrap();
        assert_eq!(serde_json::from_value::<ScoringRequest>(again).unwrap(), expected);
    }

    #[rstest]
    #[case(ScoringRequest { reference: String::new(), ..request() }, "reference: is required")]
    #[case(ScoringRequest { distorted: "a\nb".into(), ..request() }, "distorted: must not contain control characters")]
    #[case(ScoringRequest { distorted: "x".repeat(4097), ..request() }, "distorted: must have at most 4096 characters")]
    #[case(ScoringRequest { model: Some("x".repeat(1025)), ..request() }, "model: must have at most 1024 characters")]
    #[case(
        ScoringRequest { report_uri: Some("s3://b/report.v2".into()), ..request() },
        "report_uri: ends in .v2, which is not a report format; use .json, .csv, .html or .xml"
    )]
    #[case(
        ScoringRequest {
            input: Some(RawVideo { width: 0, height: 1, pixel_format: PixelFormat::Yuv420p, bit_depth: BitDepth::Eight }),
            ..request()
        },
        "input.width: must be between 1 and 65535"
    )]
    fn a_field_that_cannot_be_accepted_is_named(#[case] request: ScoringRequest, #[case] expected: &str) {
        assert_eq!(request.check().unwrap_err().to_string(), expected);
    }

    #[test]
    fn clips_are_all_that_must_be_said() {
        assert_eq!(request().check(), Ok(()));
    }
}
