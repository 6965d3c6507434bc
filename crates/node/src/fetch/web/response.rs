//! Interprets responses.

use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED, LOCATION,
    TRANSFER_ENCODING,
};
use reqwest::{Response, StatusCode};
use url::Url;

use crate::fetch::error::FetchProblem;
use crate::fetch::source::{FileMetadata, FileVersion};

/// Such as `404 Not Found`.
fn status_text(status: StatusCode) -> String {
    status
        .canonical_reason()
        .map_or_else(|| status.as_str().to_owned(), |phrase| format!("{} {phrase}", status.as_str()))
}

/// The problem of a status other than success.
pub(crate) fn status_problem(status: StatusCode) -> FetchProblem {
    let text = status_text(status);
    match status.as_u16() {
        404 | 410 => FetchProblem::NotFound(text),
        408 | 425 | 429 | 500..=599 => FetchProblem::ServerError(text),
        412 | 416 => FetchProblem::Changed,
        413 => FetchProblem::RefusedAsTooLarge(text),
        200..=299 => FetchProblem::NotFound(format!("{text} without a file")),
        300..=399 => FetchProblem::BareRedirect(text),
        401 | 403 | 407 => FetchProblem::Denied(text),
        _ => FetchProblem::Refused(text),
    }
}

/// The target of a redirect; `None` if the response is none.
pub(crate) fn redirect_target(from: &Url, response: &Response) -> Option<Result<Url, FetchProblem>> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| from.join(location).ok());
    Some(target.ok_or_else(|| status_problem(response.status())))
}

/// A file, or the requested part of it, as described by the headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileDescription {
    pub(super) metadata: FileMetadata,
    pub(super) start: u64,
}

/// Parses the headers of a response with status 200 or 206.
pub(super) fn describe(status: StatusCode, headers: &HeaderMap) -> Result<FileDescription, FetchProblem> {
    let text = |name| headers.get(name).and_then(|value: &reqwest::header::HeaderValue| value.to_str().ok());
    if text(CONTENT_ENCODING).is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(FetchProblem::Compressed);
    }
    let (start, length) = if status == StatusCode::PARTIAL_CONTENT {
        // A part without its range cannot be used.
        let (start, length) = text(CONTENT_RANGE).and_then(range).ok_or(FetchProblem::NoLength)?;
        (start, Some(length))
    } else {
        let length = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let chunked =
            text(TRANSFER_ENCODING).is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
        if length.is_none() && !chunked {
            return Err(FetchProblem::NoLength);
        }
        (0, length)
    };
    Ok(FileDescription {
        metadata: FileMetadata { length, version: version(text(ETAG), text(LAST_MODIFIED), length) },
        start,
    })
}

/// Parses `bytes 100-199/1000`: the start of the part, and the length of the file.
fn range(text: &str) -> Option<(u64, u64)> {
    let (part, whole) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
    let (start, end) = part.split_once('-')?;
    let (start, end, whole): (u64, u64, u64) = (start.parse().ok()?, end.parse().ok()?, whole.parse().ok()?);
    (start <= end && end < whole).then_some((start, whole))
}

/// A strong entity tag, or a time together with a length.
fn version(tag: Option<&str>, modified: Option<&str>, length: Option<u64>) -> Option<FileVersion> {
    match (tag, modified, length) {
        (Some(tag), ..) if tag.starts_with('"') => Some(FileVersion(tag.to_owned())),
        (_, Some(modified), Some(length)) => Some(FileVersion(format!("{modified} {length}"))),
        _ => None,
    }
}

/// The value for `If-Range`, which is a strong tag. A time in whole seconds is not precise enough to join two parts.
pub(super) fn resumable(version: &FileVersion) -> Option<&str> {
    version.0.starts_with('"').then_some(version.0.as_str())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use vmafx_job::FailureReason;

    #[rstest]
    #[case(404, FailureReason::InputNotFound, false)]
    #[case(410, FailureReason::InputNotFound, false)]
    #[case(204, FailureReason::InputNotFound, false)]
    #[case(401, FailureReason::InputDeniedOnNode, false)]
    #[case(403, FailureReason::InputDeniedOnNode, false)]
    #[case(400, FailureReason::InputDenied, false)]
    #[case(451, FailureReason::InputDenied, false)]
    #[case(304, FailureReason::InputDenied, false)]
    #[case(413, FailureReason::InputTooLarge, false)]
    #[case(408, FailureReason::SourceUnreachable, true)]
    #[case(429, FailureReason::SourceUnreachable, true)]
    #[case(500, FailureReason::SourceUnreachable, true)]
    #[case(503, FailureReason::SourceUnreachable, true)]
    fn a_status_has_a_reason_and_is_retried_or_not(
        #[case] status: u16,
        #[case] reason: FailureReason,
        #[case] retried: bool,
    ) {
        let problem = status_problem(StatusCode::from_u16(status).unwrap());
        assert_eq!((problem.reason(), problem.is_transient()), (reason, retried));
    }

    #[rstest]
    #[case("bytes 100-199/1000", Some((100, 1000)))]
    #[case("bytes 0-0/1", Some((0, 1)))]
    #[case("bytes 100-199/*", None)]
    #[case("bytes 199-100/1000", None)]
    #[case("bytes 0-1000/1000", None)]
    #[case("items 0-1/2", None)]
    #[case("", None)]
    fn a_content_range_is_parsed(#[case] text: &str, #[case] expected: Option<(u64, u64)>) {
        assert_eq!(range(text), expected);
    }

    #[rstest]
    #[case(Some("\"a\""), None, None, Some("\"a\""))]
    #[case(Some("W/\"a\""), None, Some(5), None)]
    #[case(Some("W/\"a\""), Some("Mon"), Some(5), Some("Mon 5"))]
    #[case(None, Some("Mon"), Some(5), Some("Mon 5"))]
    #[case(None, Some("Mon"), None, None)]
    #[case(None, None, Some(5), None)]
    fn a_version_is_a_strong_tag_or_a_time_and_a_length(
        #[case] tag: Option<&str>,
        #[case] modified: Option<&str>,
        #[case] length: Option<u64>,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(version(tag, modified, length).map(|version| version.0).as_deref(), expected);
    }
}
