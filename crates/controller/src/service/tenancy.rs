//! Which tenants are in force, and for which VmafxNode resources their nodes report.

use std::collections::BTreeSet;

use vmafx_queue::TenantId;

use crate::identity::Identity;

/// What the declarations of tenants decide beside roots, limits and shared pools. It is read for every call, so a change takes
/// effect at once.
pub trait Tenancy: Send + Sync + 'static {
    /// Whether the jobs of a tenant may run. The tenant's own callers are denied otherwise before they get here; those of a
    /// shared pool are not.
    fn is_in_force(&self, _tenant: &TenantId) -> bool {
        true
    }

    /// Where the VmafxNode is that a node without a ServiceAccount may name.
    fn node_namespaces(&self, _who: &Identity) -> NodeNamespaces {
        NodeNamespaces::Any
    }
}

/// Namespaces of VmafxNode resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeNamespaces {
    Any,
    /// The one with the name of the tenant.
    OfTenant,
    /// Those that the tenant's declaration lists.
    Listed(BTreeSet<String>),
}
