//! The session of the page: that of the command, which neither ends by itself nor can be left.

use http::{Method, StatusCode, Uri};
use serde_json::Value;

use super::error::DashboardError;

const PATH: &str = "/session";

/// Larger than any session, and small enough to be kept in memory.
pub(super) const MAX_SESSION_BYTES: usize = 256 * 1024;

/// What the controller says about us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AccessCheck {
    /// It needs no token.
    Anonymous,
    SignedIn {
        subject: String,
        roles: Vec<String>,
    },
}

/// How the proxy handles a request about the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionRequest {
    Show,
    /// Signing in or out, which only the command does.
    Change,
}

impl SessionRequest {
    pub(super) fn of(method: &Method, uri: &Uri) -> Option<Self> {
        (uri.path() == PATH).then_some(match *method {
            Method::GET | Method::HEAD => Self::Show,
            _ => Self::Change,
        })
    }
}

/// The response to `GET /session` of the controller; `None` if it does not accept us.
pub(super) fn access(status: StatusCode, body: &[u8]) -> Result<Option<AccessCheck>, DashboardError> {
    let session = match status {
        StatusCode::OK => serde_json::from_slice(body).unwrap_or(Value::Null),
        StatusCode::NOT_FOUND => return Err(DashboardError::SwitchedOff),
        status => return Err(DashboardError::UnexpectedResponse(status.as_u16())),
    };
    let Some(caller) = session.get("caller") else { return Ok(None) };
    if session["signInRequired"] == false {
        return Ok(Some(AccessCheck::Anonymous));
    }
    let roles = caller["roles"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(Some(AccessCheck::SignedIn {
        subject: caller["subject"].as_str().unwrap_or_default().to_owned(),
        roles: roles.map(str::to_owned).collect(),
    }))
}

/// What the page is told: it must not offer to sign out, nor ask for a token when this one expires, because the command
/// replaces it before. `None` if this is not a session of somebody.
pub(super) fn shown(body: &[u8]) -> Option<Vec<u8>> {
    let mut session: Value = serde_json::from_slice(body).ok()?;
    let caller = session.get_mut("caller")?.as_object_mut()?;
    caller.remove("expiresAt");
    session["signInRequired"] = Value::Bool(false);
    serde_json::to_vec(&session).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session(required: bool) -> Vec<u8> {
        let caller = json!({ "subject": "me", "tenant": "t", "roles": ["vmafx:reader"], "expiresAt": "2026-01-02T03:04:05Z" });
        json!({ "signInRequired": required, "caller": caller }).to_string().into_bytes()
    }

    #[test]
    fn the_page_neither_offers_to_sign_out_nor_expires() {
        let shown: Value = serde_json::from_slice(&shown(&session(true)).unwrap()).unwrap();
        assert_eq!(shown["signInRequired"], false);
        assert_eq!(shown["caller"], json!({ "subject": "me", "tenant": "t", "roles": ["vmafx:reader"] }));
    }

    #[test]
    fn a_caller_that_is_not_accepted_is_not_shown_as_signed_in() {
        assert_eq!(shown(br#"{"signInRequired":true}"#), None);
        assert_eq!(shown(b"<html>"), None);
    }

    #[test]
    fn the_controller_says_whether_it_accepts_us() {
        let signed_in =
            AccessCheck::SignedIn { subject: "me".to_owned(), roles: vec!["vmafx:reader".to_owned()] };
        assert_eq!(access(StatusCode::OK, &session(true)).unwrap(), Some(signed_in));
        assert_eq!(access(StatusCode::OK, &session(false)).unwrap(), Some(AccessCheck::Anonymous));
        assert_eq!(access(StatusCode::OK, br#"{"signInRequired":true}"#).unwrap(), None);
        assert!(matches!(access(StatusCode::NOT_FOUND, b""), Err(DashboardError::SwitchedOff)));
        let other = access(StatusCode::BAD_GATEWAY, b"");
        assert!(matches!(other, Err(DashboardError::UnexpectedResponse(502))));
    }

    #[test]
    fn only_the_session_itself_is_special() {
        let of = |method: Method, uri: &str| SessionRequest::of(&method, &uri.parse().unwrap());
        assert_eq!(of(Method::GET, "/session?x=1"), Some(SessionRequest::Show));
        assert_eq!(of(Method::POST, "/session"), Some(SessionRequest::Change));
        assert_eq!(of(Method::DELETE, "/session"), Some(SessionRequest::Change));
        assert_eq!(of(Method::GET, "/sessions"), None);
    }
}
