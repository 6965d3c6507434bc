//! What an answer other than the one hoped for means.

use reqwest::StatusCode;
use serde::Deserialize;

use crate::error::OciError;

/// What was going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Asking for something.
    Reading,
    /// Bringing something.
    Storing,
}

/// The body of an error, as the protocol has it.
#[derive(Default, Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    code: String,
}

/// The error behind a status and the beginning of its body. `known`: whether credentials were shown.
pub(super) fn judge(status: StatusCode, body: &[u8], doing: Doing, known: bool) -> OciError {
    let answer = words(status, body);
    let storing = doing == Doing::Storing;
    match status.as_u16() {
        401 => OciError::Unauthorized { answer, known },
        403 => OciError::Denied { answer, known },
        404 | 410 => OciError::NotFound { answer },
        405 if storing => OciError::ReadOnly { answer },
        507 => OciError::Full { answer },
        500..=599 if storing && no_room(body) => OciError::Full { answer },
        500 if storing => OciError::Storage { answer },
        408 | 425 | 429 | 500..=599 => OciError::Unavailable { answer },
        200..=299 => OciError::Protocol("it answers with success, but not with what was asked for"),
        300..=399 => OciError::Protocol("it answers with a redirect to nowhere"),
        _ => OciError::Refused { answer },
    }
}

/// The status in words, such as `404 Not Found, NAME_UNKNOWN`. Nothing else of the body is quoted: anybody may have
/// written it.
fn words(status: StatusCode, body: &[u8]) -> String {
    let words = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    let errors: Errors = serde_json::from_slice(body).unwrap_or_default();
    let plain = |code: &&str| {
        (1..=40).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let code = errors.errors.first().map(|entry| entry.code.as_str()).filter(plain);
    let code = code.map(|code| format!(", {code}")).unwrap_or_default();
    format!("{}{words}{code}", status.as_str())
}

/// Whether a registry's fault is that its disk, or its share of one, is full.
fn no_room(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    ["no space left", "quota exceeded", "file too large", "storage full"]
        .iter()
        .any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(401, "", Doing::Reading, "RegistryUnauthorized")]
    #[case(403, "", Doing::Storing, "RegistryDenied")]
    #[case(404, "", Doing::Reading, "RegistryNotFound")]
    #[case(405, "", Doing::Storing, "RegistryReadOnly")]
    #[case(405, "", Doing::Reading, "RegistryRefused")]
    #[case(400, "", Doing::Storing, "RegistryRefused")]
    #[case(413, "", Doing::Storing, "RegistryRefused")]
    #[case(429, "", Doing::Storing, "RegistryUnavailable")]
    #[case(500, "", Doing::Reading, "RegistryUnavailable")]
    #[case(500, "", Doing::Storing, "RegistryStorageFailed")]
    #[case(500, "write: no space left on device", Doing::Storing, "RegistryFull")]
    #[case(503, "", Doing::Storing, "RegistryUnavailable")]
    #[case(507, "", Doing::Storing, "RegistryFull")]
    #[case(204, "", Doing::Reading, "RegistryRefused")]
    #[case(304, "", Doing::Reading, "RegistryRefused")]
    fn a_status_has_a_reason(
        #[case] status: u16,
        #[case] body: &str,
        #[case] doing: Doing,
        #[case] reason: &str,
    ) {
        let error = judge(StatusCode::from_u16(status).unwrap(), body.as_bytes(), doing, false);
        assert_eq!(error.reason(), reason, "{error}");
        assert!(reason.chars().all(char::is_alphanumeric), "usable in a condition");
    }

    #[rstest]
    #[case(r#"{"errors":[{"code":"NAME_UNKNOWN","message":"x"}]}"#, "404 Not Found, NAME_UNKNOWN")]
    #[case(r#"{"errors":[{"code":"<script>"}]}"#, "404 Not Found")]
    #[case(r#"{"errors":[{}]}"#, "404 Not Found")]
    #[case("<html>", "404 Not Found")]
    fn of_a_body_only_the_code_is_quoted(#[case] body: &str, #[case] expected: &str) {
        assert_eq!(words(StatusCode::NOT_FOUND, body.as_bytes()), expected);
    }

    #[test]
    fn whoever_has_no_credentials_is_told_where_to_put_them() {
        let text = |known| judge(StatusCode::UNAUTHORIZED, b"", Doing::Reading, known).to_string();
        assert!(text(false).contains("set registrySecret"), "{}", text(false));
        assert!(text(true).contains("does not know this user or password"), "{}", text(true));
    }
}
