//! Limits, weights and standing of tenants: those of their declarations, else those of the settings.

use std::sync::Arc;

use vmafx_job::TenantLimits;
use vmafx_queue::TenantId;

use super::registry::TenantRegistry;
use super::snapshot::TenantStanding;
use crate::auth::namespaces::NamespaceTenants;
use crate::identity::{Identity, SubjectSource};
use crate::pools::SharingArgs;
use crate::service::{Limits, NodeNamespaces, Sharing, Tenancy, TenantSet, Weight};

/// Clones share the declared tenants.
#[derive(Clone, Debug)]
pub struct TenantRules {
    /// `None` if tenants are not declared.
    registry: Option<Arc<TenantRegistry>>,
    /// The tenants of namespaces that no tenant lists.
    namespaces: Option<NamespaceTenants>,
    limits: TenantLimits,
    sharing: SharingArgs,
}

impl TenantRules {
    pub(in crate::auth) const fn new(
        registry: Option<Arc<TenantRegistry>>,
        namespaces: Option<NamespaceTenants>,
        limits: TenantLimits,
        sharing: SharingArgs,
    ) -> Self {
        Self { registry, namespaces, limits, sharing }
    }
}

impl Limits for TenantRules {
    fn of(&self, tenant: &TenantId) -> TenantLimits {
        let mut limits = self.limits;
        let Some(registry) = &self.registry else { return limits };
        if let Some(declared) = registry.snapshot().tenant(tenant) {
            declared.quota.iter().for_each(|(limit, value)| limits.set(*limit, *value));
        }
        // Its own nodes are denied every call; this is what keeps its jobs from shared ones.
        if !self.is_in_force(tenant) {
            limits.running_jobs = 0;
        }
        limits
    }
}

impl Tenancy for TenantRules {
    fn is_in_force(&self, tenant: &TenantId) -> bool {
        let Some(registry) = &self.registry else { return true };
        match registry.snapshot().standing(tenant) {
            TenantStanding::Enabled => true,
            TenantStanding::Suspended | TenantStanding::Unusable => false,
            TenantStanding::Undeclared => {
                self.namespaces.as_ref().is_some_and(|setting| setting.has_undeclared(tenant))
            }
        }
    }

    fn node_namespaces(&self, who: &Identity) -> NodeNamespaces {
        match (&self.registry, &self.namespaces, who.source) {
            (Some(registry), _, SubjectSource::Tenant) => {
                NodeNamespaces::Listed(registry.snapshot().namespaces_of(&who.tenant))
            }
            // A declared tenant may have several namespaces, none of its name.
            (None, Some(NamespaceTenants::Each), _) => NodeNamespaces::OfTenant,
            _ => NodeNamespaces::Any,
        }
    }
}

impl Sharing for TenantRules {
    fn has_pools(&self) -> bool {
        self.sharing.has_pools()
    }

    fn guests(&self, home: &TenantId) -> &TenantSet {
        self.sharing.guests(home)
    }

    fn weight(&self, tenant: &TenantId) -> Weight {
        let declared = self.registry.as_ref().and_then(|registry| registry.snapshot().tenant(tenant)?.weight);
        declared.unwrap_or_else(|| self.sharing.weight(tenant))
    }
}
