//! Authorizes every request before its handler runs, and puts the caller's [`Identity`] and [`CallAccess`] into the request's
//! extensions.
//!
//! The decision uses only the head of the request, so the body of a denied request is never read.

mod credential;
mod grpc;
mod http;

use ::http::{Extensions, HeaderMap, Method, Request};
use vmafx_kit::serve::RequestAuthorization;
use vmafx_kit::tls::ClientCertificate;

use self::credential::Credential;
pub use self::grpc::{GrpcAuthLayer, GrpcAuthService};
pub use self::http::authorize_http;
use super::authenticator::Authenticator;
use super::call_access::CallAccess;
use super::certificates::CertificatePolicy;
use super::outcome::AuthOutcome;
use super::permissions::Permission;
use super::{namespaces, request_origin};
use crate::audit::AuditedCall;
use crate::identity::{Identity, Role, Roles};
use crate::refusal::Refusal;

#[derive(Clone, Debug)]
pub struct CallAuthorizer {
    authenticator: Authenticator,
    certificates: CertificatePolicy,
    /// Whether the cookie of the dashboard authenticates a request without an `Authorization` header.
    accepts_cookies: bool,
}

/// The head of a request.
struct RequestHead<'a> {
    method: &'a Method,
    credential: Credential<'a>,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl CallAuthorizer {
    pub fn new(authenticator: Authenticator) -> Self {
        Self { authenticator, certificates: CertificatePolicy::default(), accepts_cookies: false }
    }

    #[must_use]
    pub fn with_certificates(self, certificates: CertificatePolicy) -> Self {
        Self { certificates, ..self }
    }

    #[must_use]
    pub fn with_cookies(self, accepts_cookies: bool) -> Self {
        Self { accepts_cookies, ..self }
    }

    /// Returns the caller of a permitted call, or none for an exempt one. The caller is authenticated first, so that an
    /// unauthenticated caller does not learn which methods exist. Without a `permission` every caller is denied.
    async fn authorize(
        &self,
        permission: Option<Permission>,
        head: RequestHead<'_>,
        call: &AuditedCall,
    ) -> Result<Option<(Identity, CallAccess)>, Refusal> {
        let RequestHead { method, credential, headers, extensions } = head;
        if permission == Some(Permission::Exempt) {
            self.authenticator.metrics().call(AuthOutcome::Accepted);
            return Ok(None);
        }
        let (token, namespace) = (credential.token(), namespaces::of_call(headers));
        let identity = self.authenticator.authenticate_for(token, namespace, call).await?;
        let deny = |outcome, refusal| {
            self.authenticator.metrics().call(outcome);
            tracing::debug!(?outcome, tenant = %identity.tenant, subject = identity.subject, "denied a call");
            Err(refusal)
        };
        let checked = match &credential {
            Credential::Cookie(_) => request_origin::check_change(method, headers),
            Credential::None => request_origin::check_anonymous_change(method, headers),
            Credential::Authorization(_) => Ok(()),
        };
        if let Err(refusal) = checked {
            return deny(AuthOutcome::OtherOrigin, refusal);
        }
        match permission {
            Some(Permission::Roles(roles)) if identity.roles.intersects(roles) => {
                let tenant_of = |namespace: &str| self.authenticator.tenant_of_namespace(namespace);
                let certificate = extensions.get::<ClientCertificate>();
                if let Err(refusal) = self.certificates.check(permission, &identity, certificate, tenant_of) {
                    return deny(AuthOutcome::Certificate, refusal);
                }
                self.authenticator.metrics().call(AuthOutcome::Accepted);
                let access = CallAccess::new(&self.authenticator, (token, namespace), &identity, roles);
                Ok(Some((identity, access)))
            }
            Some(Permission::Roles(roles)) => {
                let text = format!("this call needs one of the roles {}", names(roles));
                deny(AuthOutcome::Role, Refusal::Denied(text))
            }
            Some(Permission::Exempt) | None => {
                let text = "no role permits this method".to_owned();
                deny(AuthOutcome::UnknownMethod, Refusal::Denied(text))
            }
        }
    }
}

impl<'a> RequestHead<'a> {
    fn of<B>(request: &'a Request<B>, credential: Credential<'a>) -> Self {
        Self {
            method: request.method(),
            credential,
            headers: request.headers(),
            extensions: request.extensions(),
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
