//! Parses the request document strictly: a misspelled field must not be ignored, because the score would be of something
//! else than was asked for.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value, json};
use vmafx_job::ScoringRequest;

#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("must be a JSON object")]
    NotAnObject,
    #[error("{field}: {problem}")]
    Field { field: String, problem: String },
}

/// Reads the document from a file; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<ScoringRequest, RequestError> {
    let mut text = Vec::new();
    if path == Path::new("-") {
        io::stdin().read_to_end(&mut text)?;
    } else {
        text = fs::read(path)?;
    }
    parse(&text)
}

pub(super) fn parse(text: &[u8]) -> Result<ScoringRequest, RequestError> {
    let Value::Object(document) = serde_json::from_slice(text)? else {
        return Err(RequestError::NotAnObject);
    };
    let request: ScoringRequest =
        serde_path_to_error::deserialize(Value::Object(document.clone())).map_err(|error| {
            let field = error.path().to_string();
            RequestError::Field { field, problem: error.into_inner().to_string() }
        })?;
    match unknown_field(&document, &request)? {
        Some(field) => Err(RequestError::Field { field, problem: "unknown field".to_owned() }),
        None => Ok(request),
    }
}

/// The first field that no part of the request has taken. `serde(deny_unknown_fields)` is not an option, because it does not
/// work together with `flatten`.
fn unknown_field(
    document: &Map<String, Value>,
    request: &ScoringRequest,
) -> Result<Option<String>, RequestError> {
    if let Some(field) = document.keys().find(|field| !is_known(field)) {
        return Ok(Some(field.clone()));
    }
    let known = serde_json::to_value(request)?;
    Ok(document.iter().find_map(|(name, value)| {
        let (value, known) = (value.as_object()?, known[name].as_object()?);
        let field = value.keys().find(|field| !known.contains_key(*field))?;
        Some(format!("{name}.{field}"))
    }))
}

/// Whether a request has such a field: then it does not accept this value, and otherwise it ignores the field.
fn is_known(field: &str) -> bool {
    let mut probe = json!({ "reference": "", "distorted": "" });
    probe[field] = json!({ "": null });
    serde_json::from_value::<ScoringRequest>(probe).is_err()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::clips(json!({"reference": "/r", "distorted": "/d"}))]
    #[case::everything(json!({
        "reference": "/r", "distorted": "/d", "model": "vmaf_v0.6.1", "backend": "cpu",
        "input": {"width": 160, "height": 90, "pixelFormat": "yuv422p", "bitDepth": 10},
        "features": ["psnr-hvs"], "frameStep": 2, "scaleTo": "64x32", "lengthMismatch": "Shortest", "reportURI": "/r.csv",
    }))]
    #[case::other_spellings(json!({
        "reference": "/r", "distorted": "/d", "reportUri": "/r.csv", "scaleTo": {"width": 64, "height": 32},
    }))]
    #[case::nothing(json!({"reference": "/r", "distorted": "/d", "model": null, "features": []}))]
    fn a_document_of_a_job_is_parsed(#[case] document: Value) {
        let expected: ScoringRequest = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(parse(document.to_string().as_bytes()).unwrap(), expected);
    }

    #[rstest]
    #[case::missing(r#"{"reference": "/r"}"#, "missing field `distorted`")]
    #[case::unknown(
        r#"{"reference": "/r", "distorted": "/d", "frame_step": 2}"#,
        "frame_step: unknown field"
    )]
    #[case::unknown_and_empty(
        r#"{"reference": "/r", "distorted": "/d", "feature": []}"#,
        "feature: unknown field"
    )]
    #[case::unknown_within(
        r#"{"reference": "/r", "distorted": "/d", "input": {"width": 1, "height": 1, "depth": 10}}"#,
        "input.depth: unknown field"
    )]
    #[case::wrong_type(
        r#"{"reference": "/r", "distorted": "/d", "input": {"width": "wide", "height": 1}}"#,
        "input.width: invalid type: string \"wide\", expected u32"
    )]
    #[case::wrong_value(
        r#"{"reference": "/r", "distorted": "/d", "frameStep": 10001}"#,
        "frame step must be between 1 and 10000"
    )]
    #[case::wrong_name(r#"{"reference": "/r", "distorted": "/d", "features": ["psnrr"]}"#, "psnrr")]
    #[case::not_an_object("[]", "must be a JSON object")]
    #[case::not_json("reference: /r", "is not JSON: expected value at line 1 column 1")]
    #[case::more(r#"{"reference": "/r", "distorted": "/d"} {}"#, "is not JSON: trailing characters")]
    fn a_document_that_is_not_a_request_is_refused_with_the_field(#[case] text: &str, #[case] message: &str) {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
