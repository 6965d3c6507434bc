//! Authorizes every request before its handler runs, and puts the caller's [`Identity`] and [`CallAccess`] into the request's
//! extensions.
//!
//! The decision uses only the head of the request, so the body of a denied request is never read.

mod grpc;
mod http;

use ::http::{Extensions, HeaderMap};
use vmafx_kit::serve::RequestAuthorization;

pub use self::grpc::{GrpcAuthLayer, GrpcAuthService};
pub use self::http::authorize_http;
use super::authenticator::Authenticator;
use super::call_access::CallAccess;
use super::outcome::AuthOutcome;
use super::permissions::Permission;
use super::{bearer, namespaces};
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
    ) -> Result<Option<(Identity, CallAccess)>, Refusal> {
        if permission == Some(Permission::Exempt) {
            self.0.metrics().call(AuthOutcome::Accepted);
            return Ok(None);
        }
        let (token, namespace) = (bearer::token(headers), namespaces::of_call(headers));
        let identity = self.0.authenticate_for(token, namespace, call).await?;
        let deny = |outcome, text| {
            self.0.metrics().call(outcome);
            tracing::debug!(?outcome, tenant = %identity.tenant, subject = identity.subject, "denied a call");
            Err(Refusal::Denied(text))
        };
        match permission {
            Some(Permission::Roles(roles)) if identity.roles.intersects(roles) => {
                self.0.metrics().call(AuthOutcome::Accepted);
                let access = CallAccess::new(&self.0, headers, &identity, roles);
                Ok(Some((identity, access)))
            }
            Some(Permission::Roles(roles)) => {
                deny(AuthOutcome::Role, format!("this call needs one of the roles {}", names(roles)))
            }
            Some(Permission::Exempt) | None => {
                deny(AuthOutcome::UnknownMethod, "no role permits this method".to_owned())
            }
        }
    }
}

/// Adds the caller to the extensions of a permitted request, and keeps the connection of one that is authenticated.
fn admit(caller: Option<(Identity, CallAccess)>, extensions: &mut Extensions) {
    let Some((identity, access)) = caller else { return };
    if let Some(request) = extensions.get::<RequestAuthorization>() {
        request.authorized();
    }
    extensions.insert(identity);
    extensions.insert(access);
}

fn names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(", ")
}
