//! Authorizes every request before its handler runs, and puts the caller's [`Identity`] into the request's extensions.
//!
//! The decision uses only the head of the request, so the body of a denied request is never read.

mod grpc;
mod http;

use ::http::{Extensions, HeaderMap};
use vmafx_kit::serve::RequestAuthorization;
use vmafx_proto::NAMESPACE_HEADER;

pub use self::grpc::{GrpcAuthLayer, GrpcAuthService};
pub use self::http::authorize_http;
use super::authenticator::Authenticator;
use super::bearer;
use super::outcome::AuthOutcome;
use super::permissions::Permission;
use crate::audit::AuditedCall;
use crate::identity::{Identity, Role, Roles};
use crate::refusal::Refusal;

#[derive(Clone, Debug)]
pub struct CallAuthorizer(Authenticator);

impl CallAuthorizer {
    pub fn new(authenticator: Authenticator) -> Self {
        Self(authenticator)
    }

    /// Returns the caller of a permitted call, or none for an exempt one. The caller is authenticated first, so that an
    /// unauthenticated caller does not learn which methods exist. Without a `permission` every caller is denied.
    async fn authorize(
        &self,
        permission: Option<Permission>,
        headers: &HeaderMap,
        call: &AuditedCall,
    ) -> Result<Option<Identity>, Refusal> {
        if permission == Some(Permission::Exempt) {
            self.0.metrics().call(AuthOutcome::Accepted);
            return Ok(None);
        }
        let identity = self.0.authenticate_for(bearer::token(headers), namespace(headers), call).await?;
        let deny = |outcome, text| {
            self.0.metrics().call(outcome);
            tracing::debug!(?outcome, tenant = %identity.tenant, subject = identity.subject, "denied a call");
            Err(Refusal::Denied(text))
        };
        match permission {
            Some(Permission::Roles(roles)) if !identity.roles.intersects(roles) => {
                deny(AuthOutcome::Role, format!("this call needs one of the roles {}", names(roles)))
            }
            Some(_) => {
                self.0.metrics().call(AuthOutcome::Accepted);
                Ok(Some(identity))
            }
            None => deny(AuthOutcome::UnknownMethod, "no role permits this method".to_owned()),
        }
    }
}

/// Adds the caller to the extensions of a permitted request, and keeps the connection of one that is authenticated.
fn admit(identity: Option<Identity>, extensions: &mut Extensions) {
    let Some(identity) = identity else { return };
    if let Some(request) = extensions.get::<RequestAuthorization>() {
        request.authorized();
    }
    extensions.insert(identity);
}

/// The namespace that the call is for.
fn namespace(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(NAMESPACE_HEADER).into_iter();
    let value = values.next()?;
    // A second value makes the call ambiguous, like one that is not text: neither names a namespace.
    Some(value.to_str().ok().filter(|_| values.next().is_none()).unwrap_or_default())
}

fn names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(", ")
}
