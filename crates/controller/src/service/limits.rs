//! The limits of a tenant.

use vmafx_job::TenantLimits;
use vmafx_queue::TenantId;

/// Limits, by tenant. They are read for every call, so a change takes effect at once.
pub trait Limits: Send + Sync + 'static {
    fn of(&self, tenant: &TenantId) -> TenantLimits;
}

/// The same limits for every tenant.
impl Limits for TenantLimits {
    fn of(&self, _: &TenantId) -> TenantLimits {
        *self
    }
}
