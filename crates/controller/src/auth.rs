//! Who calls, and whether they may.
//!
//! ```text
//!  request ─▶ gate ─▶ table: who may call this? ─▶ authenticator: who is this? ─▶ roles meet? ─▶ handler
//!                      nobody knows it: refused      static tokens │ key set of the issuer │ tenants
//! ```
//!
//! Everything is refused that is not allowed by name: a method that is missing in the [`table`] is closed to
//! everybody, also to admins. Every bad token gets the same answer; what was wrong with it is known to the debug
//! log and, as one word of a closed list, to a metric.
//!
//! | promise                                                            | guarded by                                  |
//! |--------------------------------------------------------------------|---------------------------------------------|
//! | RS256 alone, decided before anything else is looked at             | `tests/auth/tokens.rs`                      |
//! | keys of 2048 bits or more, at most 16, no truncation               | `jwks/set.rs`, `tests/auth/tokens.rs`       |
//! | an unknown key is asked for at most every 30 s, by one             | `tests/auth/keys.rs`                        |
//! | keys are read again after 15 min, and outlive their server by 24 h | `tests/auth/keys.rs`                        |
//! | no method without a row in the table                               | `table/tests.rs`                            |
//! | the body of a refused request is not read                          | `tests/auth/gate.rs`                        |

mod args;
mod authenticator;
mod bearer;
mod cause;
mod claims;
mod document;
pub mod gate;
mod issuer;
mod jwks;
mod jwt;
mod metrics;
mod provider;
mod subjects;
pub mod table;
mod tenants;
mod time;
mod tokens;
mod upkeep;
mod verified;
mod watched;

pub use self::args::{Access, AuthArgs, AuthError};
pub use self::authenticator::Authenticator;
pub use self::cause::Outcome;
pub use self::metrics::{AuthMetrics, Fetched};
pub use self::time::{Time, WallClock};
pub use self::upkeep::Upkeep;
