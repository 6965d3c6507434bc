//! Authentication and authorization of calls.
//!
//! ```text
//!  request ─▶ middleware ─▶ permissions: which roles? ─▶ authenticator: who calls? ─▶ role check ─▶ handler
//!                           unlisted method: denied      static tokens │ issuer of the settings │ tenants
//! ```
//!
//! Calls are denied by default: a method that [`permissions`] does not list is denied to everybody, admins included.
//! Every invalid token gets the same response; the cause appears only in the debug log and as a label of a metric.
//!
//! | guarantee                                                          | guarded by                                  |
//! |--------------------------------------------------------------------|---------------------------------------------|
//! | only RS256, checked before anything else in the token              | `tests/auth/tokens.rs`                      |
//! | keys of 2048 bits or more, at most 16, never a truncated set       | `jwks/key_set.rs`, `tests/auth/tokens.rs`   |
//! | an unknown key causes at most one fetch in 30 s                    | `tests/auth/keys.rs`                        |
//! | keys are refreshed after 15 min and expire after 24 h              | `tests/auth/keys.rs`                        |
//! | every served method is listed in the permissions                   | `permissions/tests.rs`                      |
//! | the body of a denied request is not read                           | `tests/auth/gate.rs`                        |
//! | a stream ends with the access of its caller                        | `tests/tenants/streams.rs`                  |
//! | no page of another site acts by the cookie of the dashboard        | `request_origin.rs`, `tests/dashboard`      |

mod args;
mod authenticator;
pub(crate) mod bearer;
mod call_access;
pub(crate) mod certificates;
mod claims;
mod clocks;
mod config_file;
mod issuer;
mod issuers;
mod jwks;
mod jwt;
mod metrics;
mod metrics_token;
pub mod middleware;
pub(crate) mod namespaces;
mod outcome;
pub mod permissions;
mod principal;
mod provider;
mod refresher;
mod reloading_file;
pub(crate) mod request_origin;
pub(crate) mod session_cookie;
mod static_tokens;
mod subjects;
mod tenants;
mod token_cache;

pub use self::args::{Access, AuthArgs, AuthError};
pub use self::authenticator::Authenticator;
pub use self::call_access::CallAccess;
pub use self::certificates::CertificatePolicy;
pub use self::clocks::Clocks;
pub use self::metrics::{AuthMetrics, KeyFetchResult};
pub use self::outcome::AuthOutcome;
pub use self::refresher::AuthRefresher;
pub use self::tenants::TenantRules;
