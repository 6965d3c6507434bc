//! The scoring roots and report roots of declared tenants, and of those that exist by a setting.

use std::sync::Arc;

use vmafx_queue::TenantId;

use super::registry::TenantRegistry;
use super::snapshot::TenantStanding;
use crate::roots::PermittedRoots;
use crate::service::Roots;

/// A declared tenant has the roots of its declaration and no others: with those of the setting too, it would reach the clips
/// of everybody who is not declared.
pub(crate) struct TenantRoots {
    pub(crate) registry: Arc<TenantRegistry>,
    /// `VMAFX_SCORING_ROOTS` and `VMAFX_REPORT_ROOTS`.
    pub(crate) undeclared: PermittedRoots,
}

impl TenantRoots {
    fn with<T>(&self, tenant: &TenantId, use_roots: impl FnOnce(&dyn Roots) -> T) -> T {
        let snapshot = self.registry.snapshot();
        match snapshot.standing(tenant) {
            TenantStanding::Enabled | TenantStanding::Suspended => match snapshot.tenant(tenant) {
                Some(declared) => use_roots(&declared.roots),
                None => use_roots(&PermittedRoots::default()),
            },
            TenantStanding::Unusable => use_roots(&PermittedRoots::default()),
            TenantStanding::Undeclared => use_roots(&self.undeclared),
        }
    }
}

impl Roots for TenantRoots {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        self.with(tenant, |roots| roots.of(tenant))
    }

    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        self.with(tenant, |roots| roots.check(tenant, address))
    }

    fn of_reports(&self, tenant: &TenantId) -> Vec<String> {
        self.with(tenant, |roots| roots.of_reports(tenant))
    }

    fn check_report(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        self.with(tenant, |roots| roots.check_report(tenant, address))
    }
}
