//! What an answer means.

use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED, LOCATION,
    TRANSFER_ENCODING,
};
use reqwest::{Response, StatusCode};
use url::Url;

use crate::fetch::error::Problem;
use crate::fetch::source::{Meta, Version};

/// The status in words, such as `404 Not Found`.
pub(crate) fn words(status: StatusCode) -> String {
    status
        .canonical_reason()
        .map_or_else(|| status.as_str().to_owned(), |words| format!("{} {words}", status.as_str()))
}

/// What a status other than success means.
pub(crate) fn judge(status: StatusCode) -> Problem {
    let words = words(status);
    match status.as_u16() {
        404 | 410 => Problem::NotFound(words),
        408 | 425 | 429 | 500..=599 => Problem::Answer(words),
        412 | 416 => Problem::Changed,
        413 => Problem::CalledTooLarge(words),
        200..=299 => Problem::NotFound(format!("{words} and no file")),
        300..=399 => Problem::BareRedirect(words),
        _ => Problem::Denied(words),
    }
}

/// Where a redirect leads to, if the answer is one.
pub(crate) fn redirect_target(from: &Url, answer: &Response) -> Option<Result<Url, Problem>> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| from.join(location).ok());
    Some(target.ok_or_else(|| judge(answer.status())))
}

/// A file, or the part of it that was asked for, as the headers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) meta: Meta,
    pub(super) start: u64,
}

/// Reads the headers of an answer of 200 or 206.
pub(super) fn describe(status: StatusCode, headers: &HeaderMap) -> Result<Described, Problem> {
    let text = |name| headers.get(name).and_then(|value: &reqwest::header::HeaderValue| value.to_str().ok());
    if text(CONTENT_ENCODING).is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(Problem::Compressed);
    }
    let (start, length) = if status == StatusCode::PARTIAL_CONTENT {
        // A part of which it is not said which one cannot be put anywhere.
        let (start, length) = text(CONTENT_RANGE).and_then(range).ok_or(Problem::NoLength)?;
        (start, Some(length))
    } else {
        let length = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let chunked =
            text(TRANSFER_ENCODING).is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
        if length.is_none() && !chunked {
            return Err(Problem::NoLength);
        }
        (0, length)
    };
    Ok(Described { meta: Meta { length, version: version(text(ETAG), text(LAST_MODIFIED), length) }, start })
}

/// `bytes 100-199/1000`: where it starts, and how long the whole is.
fn range(text: &str) -> Option<(u64, u64)> {
    let (part, whole) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
    let (start, end) = part.split_once('-')?;
    let (start, end, whole): (u64, u64, u64) = (start.parse().ok()?, end.parse().ok()?, whole.parse().ok()?);
    (start <= end && end < whole).then_some((start, whole))
}

/// A strong tag, or a time and a length together.
fn version(tag: Option<&str>, modified: Option<&str>, length: Option<u64>) -> Option<Version> {
    match (tag, modified, length) {
        (Some(tag), ..) if tag.starts_with('"') => Some(Version(tag.to_owned())),
        (_, Some(modified), Some(length)) => Some(Version(format!("{modified} {length}"))),
        _ => None,
    }
}

/// What `If-Range` takes: a strong tag. A time has whole seconds only, which is not enough to put two parts together.
pub(super) fn resumable(version: &Version) -> Option<&str> {
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
    #[case(401, FailureReason::InputDenied, false)]
    #[case(403, FailureReason::InputDenied, false)]
    #[case(400, FailureReason::InputDenied, false)]
    #[case(451, FailureReason::InputDenied, false)]
    #[case(304, FailureReason::InputDenied, false)]
    #[case(413, FailureReason::InputTooLarge, false)]
    #[case(408, FailureReason::SourceUnreachable, true)]
    #[case(429, FailureReason::SourceUnreachable, true)]
    #[case(500, FailureReason::SourceUnreachable, true)]
    #[case(503, FailureReason::SourceUnreachable, true)]
    fn a_status_has_a_reason_and_is_asked_again_or_not(
        #[case] status: u16,
        #[case] reason: FailureReason,
        #[case] again: bool,
    ) {
        let problem = judge(StatusCode::from_u16(status).unwrap());
        assert_eq!((problem.reason(), problem.is_transient()), (reason, again));
    }

    #[rstest]
    #[case("bytes 100-199/1000", Some((100, 1000)))]
    #[case("bytes 0-0/1", Some((0, 1)))]
    #[case("bytes 100-199/*", None)]
    #[case("bytes 199-100/1000", None)]
    #[case("bytes 0-1000/1000", None)]
    #[case("items 0-1/2", None)]
    #[case("", None)]
    fn a_part_says_which_one_it_is(#[case] text: &str, #[case] expected: Option<(u64, u64)>) {
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
