//! Where the clips of a tenant may lie.

use vmafx_queue::TenantId;

/// Scoring roots, by tenant. A tenant without any may score nothing.
pub trait Roots: Send + Sync + 'static {
    /// The roots, as they are handed to nodes with a job.
    fn of(&self, tenant: &TenantId) -> Vec<String>;

    /// Whether an address lies inside, by its text alone; the text of the error is for the caller.
    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String>;
}

/// Nothing may be scored.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRoots;

impl Roots for NoRoots {
    fn of(&self, _: &TenantId) -> Vec<String> {
        Vec::new()
    }

    fn check(&self, _: &TenantId, _: &str) -> Result<(), String> {
        Err("no scoring roots are configured (VMAFX_SCORING_ROOTS)".to_owned())
    }
}
