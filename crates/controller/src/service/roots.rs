//! The scoring roots and the report roots of a tenant.

use vmafx_queue::TenantId;

/// Scoring roots, by tenant. A tenant without scoring roots cannot score anything.
pub trait Roots: Send + Sync + 'static {
    /// The roots that a node receives with a job.
    fn of(&self, tenant: &TenantId) -> Vec<String>;

    /// Whether an address is inside the roots, decided by its text alone. The error text is for the caller.
    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String>;

    /// The report roots that a node receives with a job. None: reports are inside the scoring roots.
    fn of_reports(&self, _tenant: &TenantId) -> Vec<String> {
        Vec::new()
    }

    /// Whether a report may be written to an address.
    fn check_report(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        self.check(tenant, address)
    }
}
