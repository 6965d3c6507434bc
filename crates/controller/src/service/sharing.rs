//! Which tenants share nodes, and how.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use vmafx_queue::TenantId;

/// Shared pools and weights, by tenant.
pub trait Sharing: Send + Sync + 'static {
    /// Whether any nodes may serve another tenant than their own.
    fn has_pools(&self) -> bool;

    /// The tenants that the nodes of `home` may serve besides `home`.
    fn guests(&self, home: &TenantId) -> &TenantSet;

    fn weight(&self, tenant: &TenantId) -> Weight;
}

/// How many turns a tenant gets in proportion to the others, from 1 to [`Weight::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight(NonZeroU32);

impl Weight {
    pub const DEFAULT: Self = Self(NonZeroU32::MIN);
    pub const MAX: u32 = 1000;

    pub fn new(weight: u32) -> Option<Self> {
        NonZeroU32::new(weight).filter(|weight| weight.get() <= Self::MAX).map(Self)
    }

    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TenantSet {
    All,
    Only(BTreeSet<TenantId>),
}

impl TenantSet {
    pub const EMPTY: Self = Self::Only(BTreeSet::new());

    pub fn contains(&self, tenant: &TenantId) -> bool {
        match self {
            Self::All => true,
            Self::Only(tenants) => tenants.contains(tenant),
        }
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, tenants) | (tenants, Self::All) => tenants.clone(),
            (Self::Only(own), Self::Only(others)) => Self::Only(own & others),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }
}

/// Nodes of one tenant that serve others too.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pool {
    pub home: TenantId,
    pub guests: TenantSet,
}

impl Pool {
    pub fn serves(&self, tenant: &TenantId) -> bool {
        *tenant == self.home || self.guests.contains(tenant)
    }
}
