//! The error that an unexpected response means.

use reqwest::StatusCode;
use serde::Deserialize;

use crate::error::OciError;

/// Whether the failed request was to read or to store something; both can fail with the same status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegistryAccess {
    Read,
    Store,
}

/// The body of an error response in the distribution protocol.
#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    errors: Vec<ErrorEntry>,
}

#[derive(Deserialize)]
struct ErrorEntry {
    #[serde(default)]
    code: String,
}

/// The error for a status and the start of its body. `with_credentials` tells whether the request carried any.
pub(super) fn error_for(
    status: StatusCode,
    body: &[u8],
    access: RegistryAccess,
    with_credentials: bool,
) -> OciError {
    let response = describe(status, body);
    let storing = access == RegistryAccess::Store;
    match status.as_u16() {
        401 => OciError::Unauthorized { response, with_credentials },
        403 => OciError::Denied { response, with_credentials },
        404 | 410 => OciError::NotFound { response },
        405 if storing => OciError::ReadOnly { response },
        507 => OciError::Full { response },
        500..=599 if storing && is_out_of_space(body) => OciError::Full { response },
        500 if storing => OciError::StorageFailed { response },
        408 | 425 | 429 | 500..=599 => OciError::Unavailable { response },
        200..=299 => OciError::Protocol("it responds with an unexpected success status"),
        300..=399 => OciError::Protocol("it responds with a redirect without a target"),
        _ => OciError::Refused { response },
    }
}

/// The status line and the error code, such as `404 Not Found, NAME_UNKNOWN`. Nothing else of the body is quoted,
/// because it is not trusted.
fn describe(status: StatusCode, body: &[u8]) -> String {
    let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    let errors: ErrorBody = serde_json::from_slice(body).unwrap_or_default();
    let plain = |code: &&str| {
        (1..=40).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let code = errors.errors.first().map(|entry| entry.code.as_str()).filter(plain);
    let code = code.map(|code| format!(", {code}")).unwrap_or_default();
    format!("{}{reason}{code}", status.as_str())
}

/// Whether the registry failed because its disk or its quota is full.
fn is_out_of_space(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    ["no space left", "quota exceeded", "file too large", "storage full"]
        .iter()
        .any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(401, "", RegistryAccess::Read, "RegistryUnauthorized")]
    #[case(403, "", RegistryAccess::Store, "RegistryDenied")]
    #[case(404, "", RegistryAccess::Read, "RegistryNotFound")]
    #[case(405, "", RegistryAccess::Store, "RegistryReadOnly")]
    #[case(405, "", RegistryAccess::Read, "RegistryRefused")]
    #[case(400, "", RegistryAccess::Store, "RegistryRefused")]
    #[case(413, "", RegistryAccess::Store, "RegistryRefused")]
    #[case(429, "", RegistryAccess::Store, "RegistryUnavailable")]
    #[case(500, "", RegistryAccess::Read, "RegistryUnavailable")]
    #[case(500, "", RegistryAccess::Store, "RegistryStorageFailed")]
    #[case(500, "write: no space left on device", RegistryAccess::Store, "RegistryFull")]
    #[case(503, "", RegistryAccess::Store, "RegistryUnavailable")]
    #[case(507, "", RegistryAccess::Store, "RegistryFull")]
    #[case(204, "", RegistryAccess::Read, "RegistryRefused")]
    #[case(304, "", RegistryAccess::Read, "RegistryRefused")]
    fn a_status_has_a_reason(
        #[case] status: u16,
        #[case] body: &str,
        #[case] access: RegistryAccess,
        #[case] reason: &str,
    ) {
        let error = error_for(StatusCode::from_u16(status).unwrap(), body.as_bytes(), access, false);
        assert_eq!(error.reason().as_str(), reason, "{error}");
        assert!(reason.chars().all(char::is_alphanumeric), "usable in a condition");
    }

    #[rstest]
    #[case(r#"{"errors":[{"code":"NAME_UNKNOWN","message":"x"}]}"#, "404 Not Found, NAME_UNKNOWN")]
    #[case(r#"{"errors":[{"code":"<script>"}]}"#, "404 Not Found")]
    #[case(r#"{"errors":[{}]}"#, "404 Not Found")]
    #[case("<html>", "404 Not Found")]
    fn of_a_body_only_the_code_is_quoted(#[case] body: &str, #[case] expected: &str) {
        assert_eq!(describe(StatusCode::NOT_FOUND, body.as_bytes()), expected);
    }

    #[test]
    fn without_credentials_the_error_says_where_to_put_them() {
        let text = |with_credentials| {
            error_for(StatusCode::UNAUTHORIZED, b"", RegistryAccess::Read, with_credentials).to_string()
        };
        assert!(text(false).contains("set registrySecret"), "{}", text(false));
        assert!(text(true).contains("does not know this user or password"), "{}", text(true));
    }
}
