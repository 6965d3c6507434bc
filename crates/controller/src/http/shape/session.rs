//! The session of a browser.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token to sign in with.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignIn {
    /// A token that the API accepts in the header `Authorization`.
    #[schemars(length(min = 1, max = 4096))]
    pub token: String,
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Whether callers need a token.
    pub sign_in_required: bool,
    /// The caller, if its token is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<SessionCaller>,
}

/// The caller of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCaller {
    /// Subject of the token.
    pub subject: String,
    /// The tenant whose jobs the caller sees.
    pub tenant: String,
    /// Roles of the caller, such as `vmafx:reader`.
    pub roles: Vec<String>,
    /// When the token expires; absent for a token that is valid until it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}
