//! The limits and weights of tenants: those of their declarations, else those of the settings.

use std::sync::Arc;

use vmafx_job::TenantLimits;
use vmafx_queue::TenantId;

use super::registry::TenantRegistry;
use super::snapshot::TenantStanding;
use crate::pools::SharingArgs;
use crate::service::{Limits, Sharing, TenantSet, Weight};

/// Clones share the declared tenants.
#[derive(Clone, Debug)]
pub struct TenantRules {
    /// `None` if tenants are not declared.
    registry: Option<Arc<TenantRegistry>>,
    limits: TenantLimits,
    sharing: SharingArgs,
}

impl TenantRules {
    pub(in crate::auth) const fn new(
        registry: Option<Arc<TenantRegistry>>,
        limits: TenantLimits,
        sharing: SharingArgs,
    ) -> Self {
        Self { registry, limits, sharing }
    }
}

impl Limits for TenantRules {
    fn of(&self, tenant: &TenantId) -> TenantLimits {
        let mut limits = self.limits;
        let Some(registry) = &self.registry else { return limits };
        let snapshot = registry.snapshot();
        if let Some(declared) = snapshot.tenant(tenant) {
            declared.quota.iter().for_each(|(limit, value)| limits.set(*limit, *value));
        }
        match snapshot.standing(tenant) {
            TenantStanding::Enabled | TenantStanding::Undeclared => {}
            // Its own nodes are denied every call; this is what keeps its jobs from shared ones.
            TenantStanding::Suspended | TenantStanding::Unusable => limits.running_jobs = 0,
        }
        limits
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
