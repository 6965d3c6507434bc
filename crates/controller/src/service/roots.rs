//! The scoring roots of a tenant.

use vmafx_queue::TenantId;

/// Scoring roots, by tenant. A tenant without scoring roots cannot score anything.
pub trait Roots: Send + Sync + 'static {
    /// The roots that a node receives with a job.
    fn of(&self, tenant: &TenantId) -> Vec<String>;

    /// Whether an address is inside the roots, decided by its text alone. The error text is for the caller.
    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String>;
}
