//! The gate before every handler. Behind it, the [`Identity`] of the caller is among the request's extensions.
//!
//! A refused request is answered from its head alone; nobody reads its body.

mod grpc;
mod http;

use ::http::HeaderMap;

pub use self::grpc::{GrpcGate, GrpcGated};
pub use self::http::http;
use super::authenticator::Authenticator;
use super::bearer;
use super::cause::Outcome;
use super::table::Entry;
use crate::identity::{Identity, Role, Roles};
use crate::refusal::Refusal;

/// Lets calls through, or not. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Gate(Authenticator);

impl Gate {
    /// A gate that knows callers by this.
    pub fn new(authenticator: Authenticator) -> Self {
        Self(authenticator)
    }

    /// Whether a call may go on, and who calls. `entry` is its row in the table, if it has one. Who is not known is
    /// told nothing but that.
    async fn admit(&self, entry: Option<Entry>, headers: &HeaderMap) -> Result<Option<Identity>, Refusal> {
        if entry == Some(Entry::Exempt) {
            self.0.metrics().call(Outcome::Accepted);
            return Ok(None);
        }
        let identity = self.0.authenticate(bearer::token(headers)).await?;
        let refused = |outcome, text| {
            self.0.metrics().call(outcome);
            tracing::debug!(?outcome, tenant = %identity.tenant, subject = identity.subject, "a call is refused");
            Err(Refusal::Denied(text))
        };
        match entry {
            Some(Entry::Roles(roles)) if !identity.roles.meets(roles) => {
                refused(Outcome::Role, format!("this needs one of the roles {}", names(roles)))
            }
            Some(_) => {
                self.0.metrics().call(Outcome::Accepted);
                Ok(Some(identity))
            }
            None => refused(Outcome::UnknownMethod, "this method may be called by nobody".to_owned()),
        }
    }
}

fn names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(", ")
}
