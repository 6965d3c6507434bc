//! Who may call: the issuer of the settings, declared tenants, or both; and the tenant of each caller.
//!
//! With declared tenants, the issuer of the settings names no tenant by a claim: only a declaration does. The tenant of a
//! namespace is:
//!
//! | the namespace is listed by        | tenant                                                    |
//! |-----------------------------------|-----------------------------------------------------------|
//! | one usable tenant                 | that one; denied while it is suspended                    |
//! | several, or one that is invalid   | denied                                                    |
//! | none                              | by `VMAFX_AUTH_DEFAULT_TENANT`: its own, that of all, or denied |
//!
//! A namespace never becomes part of a declared tenant by its mere name, because whoever may create namespaces would choose
//! its tenant.

use std::sync::Arc;

use vmafx_queue::TenantId;

use super::jwt::UnverifiedToken;
use super::namespaces::{self, NamespaceTenants};
use super::outcome::AuthOutcome;
use super::principal::Membership;
use super::provider::Provider;
use super::tenants::{NamespaceOwner, TenantRegistry, TenantStanding};
use super::token_cache::VerifiedToken;

#[derive(Debug, Default)]
pub(super) struct Issuers {
    /// The issuer of the settings.
    pub(super) provider: Option<Provider>,
    pub(super) tenants: Option<Arc<TenantRegistry>>,
    pub(super) namespaces: Option<NamespaceTenants>,
}

impl Issuers {
    /// Changes when cached decisions may no longer hold. Both terms only increase, so every change of either changes the
    /// sum.
    pub(super) fn generation(&self) -> u64 {
        let provider = self.provider.as_ref().map_or(0, Provider::generation);
        provider + self.tenants.as_ref().map_or(0, |tenants| tenants.generation())
    }

    pub(super) async fn identify(
        &self,
        token: &UnverifiedToken<'_>,
        now: i64,
    ) -> Result<VerifiedToken, AuthOutcome> {
        let by_provider = match &self.provider {
            Some(provider) => provider.identify(token, now).await,
            None => Err(AuthOutcome::Issuer),
        };
        match (by_provider, &self.tenants) {
            // A tenant may have the same issuer, with another audience.
            (Err(AuthOutcome::Issuer), Some(tenants)) => tenants.identify(token, now).await,
            (Err(outcome @ (AuthOutcome::NoTenant | AuthOutcome::Audience)), Some(tenants)) => {
                tenants.identify(token, now).await.map_err(|error| match error {
                    AuthOutcome::Issuer => outcome,
                    other => other,
                })
            }
            (outcome, _) => outcome,
        }
    }

    /// The tenant of a caller, if that is in force.
    pub(super) fn tenant_of(&self, membership: &Membership) -> Result<TenantId, AuthOutcome> {
        match membership {
            Membership::Tenant(tenant) => self.check(tenant).map(|()| tenant.clone()),
            Membership::Namespace(namespace) => self.tenant_of_namespace(namespace),
        }
    }

    fn check(&self, tenant: &TenantId) -> Result<(), AuthOutcome> {
        let Some(registry) = &self.tenants else { return Ok(()) };
        registry.check_age()?;
        let exists_by_setting =
            || self.namespaces.as_ref().is_some_and(|setting| setting.has_undeclared(tenant));
        match registry.snapshot().standing(tenant) {
            TenantStanding::Enabled => Ok(()),
            TenantStanding::Suspended => Err(AuthOutcome::Suspended),
            TenantStanding::Undeclared if exists_by_setting() => Ok(()),
            TenantStanding::Undeclared | TenantStanding::Unusable => Err(AuthOutcome::UnknownTenant),
        }
    }

    fn tenant_of_namespace(&self, namespace: &str) -> Result<TenantId, AuthOutcome> {
        if !namespaces::is_namespace(namespace) {
            return Err(AuthOutcome::Namespace);
        }
        let by_setting = self.namespaces.as_ref().and_then(|setting| setting.tenant_of(namespace));
        let Some(registry) = &self.tenants else { return by_setting.ok_or(AuthOutcome::Namespace) };
        registry.check_age()?;
        let snapshot = registry.snapshot();
        let tenant = match snapshot.owner(namespace) {
            Some(NamespaceOwner::Tenant(tenant)) => tenant.clone(),
            Some(NamespaceOwner::Nobody) => return Err(AuthOutcome::NamespaceTenant),
            None => {
                let tenant = by_setting.ok_or(AuthOutcome::NamespaceTenant)?;
                let by_its_name = self.namespaces == Some(NamespaceTenants::Each);
                if by_its_name && snapshot.standing(&tenant) != TenantStanding::Undeclared {
                    return Err(AuthOutcome::NamespaceTenant);
                }
                tenant
            }
        };
        match snapshot.standing(&tenant) {
            TenantStanding::Enabled | TenantStanding::Undeclared => Ok(tenant),
            TenantStanding::Suspended => Err(AuthOutcome::Suspended),
            TenantStanding::Unusable => Err(AuthOutcome::NamespaceTenant),
        }
    }
}
