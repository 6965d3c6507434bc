//! Limits of single tenants.

use std::sync::Arc;

use vmafx_api::tenant::TenantQuota;
use vmafx_queue::TenantId;

use super::registry::TenantRegistry;

/// The limits that a tenant declares; `None` leaves that of the controller in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaOverrides {
    pub pending_jobs: Option<u64>,
    pub running_jobs: Option<u64>,
    pub stored_bytes: Option<u64>,
    pub nodes: Option<u64>,
    pub streams: Option<u64>,
}

impl QuotaOverrides {
    /// The error names the first limit that is not positive.
    pub(super) fn parse(quota: &TenantQuota) -> Result<Self, String> {
        let limit = |field: &str, value: Option<i64>| match value {
            None => Ok(None),
            Some(value) => match u64::try_from(value) {
                Ok(limit) if limit > 0 => Ok(Some(limit)),
                _ => Err(format!("{field} is {value}: use 1 or more")),
            },
        };
        Ok(Self {
            pending_jobs: limit("pendingJobs", quota.pending_jobs)?,
            running_jobs: limit("runningJobs", quota.running_jobs)?,
            stored_bytes: limit("storedBytes", quota.stored_bytes)?,
            nodes: limit("nodes", quota.nodes)?,
            streams: limit("streams", quota.streams)?,
        })
    }
}

/// The current quotas of all declared tenants. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct TenantQuotas(pub(in crate::auth) Option<Arc<TenantRegistry>>);

impl TenantQuotas {
    /// Empty for a tenant that is not declared.
    pub fn of(&self, tenant: &TenantId) -> QuotaOverrides {
        let declared = self.0.as_ref().and_then(|registry| registry.snapshot().tenant(tenant));
        declared.map(|tenant| tenant.quota).unwrap_or_default()
    }
}
