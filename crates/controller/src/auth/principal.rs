//! A caller whose token was verified. Its tenant is determined at each call, because the tenant of a namespace may change.

use vmafx_queue::TenantId;

use crate::identity::{Identity, Roles, SubjectSource};

/// How a caller belongs to a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Membership {
    Tenant(TenantId),
    /// It belongs to the tenant of this namespace.
    Namespace(String),
}

#[derive(Clone, Debug)]
pub(super) struct Principal {
    pub(super) membership: Membership,
    /// For logs, and the owner of the caller's idempotency keys.
    pub(super) subject: String,
    pub(super) source: SubjectSource,
    pub(super) roles: Roles,
    pub(super) calls_for_namespaces: bool,
}

impl Principal {
    pub(super) fn identity(self, tenant: TenantId) -> Identity {
        let Self { subject, source, roles, calls_for_namespaces, .. } = self;
        Identity { tenant, subject, source, roles, calls_for_namespaces }
    }
}

impl From<&Identity> for Principal {
    fn from(identity: &Identity) -> Self {
        let Identity { tenant, subject, source, roles, calls_for_namespaces } = identity.clone();
        Self { membership: Membership::Tenant(tenant), subject, source, roles, calls_for_namespaces }
    }
}
