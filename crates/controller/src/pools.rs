//! The shared pools and the weights of tenants, from the settings of the controller.

use std::collections::BTreeMap;
use std::str::FromStr;

use vmafx_queue::TenantId;

use crate::service::{Sharing, TenantSet, Weight};

/// Stands for every tenant.
pub(crate) const ANY_TENANT: &str = "*";

static NO_GUESTS: TenantSet = TenantSet::EMPTY;

#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct SharingArgs {
    /// Tenants that the nodes of a tenant may serve besides their own, as home=guest+guest,…; the guest * is every tenant.
    /// A node serves those that it asks for among them.
    #[arg(long, env = "VMAFX_SHARED_POOLS", value_name = "POOLS", default_value = "")]
    pub shared_pools: SharedPools,

    /// Weights of tenants in shared pools, as tenant=weight,…; all others have 1.
    #[arg(long, env = "VMAFX_TENANT_WEIGHTS", value_name = "WEIGHTS", default_value = "")]
    pub tenant_weights: TenantWeights,
}

impl Sharing for SharingArgs {
    fn has_pools(&self) -> bool {
        !self.shared_pools.0.is_empty()
    }

    fn guests(&self, home: &TenantId) -> &TenantSet {
        self.shared_pools.0.get(home).unwrap_or(&NO_GUESTS)
    }

    fn weight(&self, tenant: &TenantId) -> Weight {
        self.tenant_weights.0.get(tenant).copied().unwrap_or(Weight::DEFAULT)
    }
}

/// The guests of each home tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedPools(BTreeMap<TenantId, TenantSet>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantWeights(BTreeMap<TenantId, Weight>);

impl FromStr for SharedPools {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let guests = |text: &str| {
            if text == ANY_TENANT {
                return Ok(TenantSet::All);
            }
            let guests = text.split('+').map(|guest| match guest.trim() {
                ANY_TENANT => Err(format!("{text:?} has * among other tenants; use * alone")),
                guest => tenant(guest),
            });
            Ok(TenantSet::Only(guests.collect::<Result<_, String>>()?))
        };
        pairs(text, "HOME=GUEST+GUEST", guests).map(Self)
    }
}

impl FromStr for TenantWeights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let weight = |text: &str| {
            let weight = text.parse().ok().and_then(Weight::new);
            weight.ok_or_else(|| format!("{text:?} is not a weight; use a number from 1 to {}", Weight::MAX))
        };
        pairs(text, "TENANT=WEIGHT", weight).map(Self)
    }
}

/// Parses `tenant=value,…`; each tenant once.
fn pairs<T>(
    text: &str,
    form: &str,
    value: impl Fn(&str) -> Result<T, String>,
) -> Result<BTreeMap<TenantId, T>, String> {
    let mut pairs = BTreeMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, of_tenant) =
            part.split_once('=').ok_or_else(|| format!("{part:?} has no value; use {form}"))?;
        let name = name.trim();
        if pairs.insert(tenant(name)?, value(of_tenant.trim())?).is_some() {
            return Err(format!("{name:?} is named twice; name each tenant once"));
        }
    }
    Ok(pairs)
}

fn tenant(name: &str) -> Result<TenantId, String> {
    TenantId::new(name).map_err(|error| format!("{name:?} is not a tenant: {error}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_pool_has_the_guests_of_its_home() {
        let sharing = SharingArgs {
            shared_pools: "pool=*, studio=a + b".parse().unwrap(),
            tenant_weights: "a=2,b=1000".parse().unwrap(),
        };
        let of = |name| TenantId::new(name).unwrap();
        assert!(sharing.has_pools());
        assert_eq!(*sharing.guests(&of("pool")), TenantSet::All);
        assert_eq!(*sharing.guests(&of("studio")), TenantSet::Only([of("a"), of("b")].into()));
        assert!(sharing.guests(&of("a")).is_empty());
        let weights = ["a", "b", "c"].map(|name| sharing.weight(&of(name)).get());
        assert_eq!(weights, [2, 1000, 1]);
        assert!(!SharingArgs::default().has_pools());
    }

    #[rstest]
    #[case::no_guests("pool", "\"pool\" has no value; use HOME=GUEST+GUEST")]
    #[case::empty_guest("pool=a+", "\"\" is not a tenant: the text is empty")]
    #[case::empty_home("=a", "\"\" is not a tenant: the text is empty")]
    #[case::mixed("pool=a+*", "\"a+*\" has * among other tenants; use * alone")]
    #[case::twice("pool=a,pool=b", "\"pool\" is named twice; name each tenant once")]
    fn a_pool_that_is_not_understood_is_refused(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(text.parse::<SharedPools>().unwrap_err(), expected);
    }

    #[rstest]
    #[case::zero("a=0", "\"0\" is not a weight; use a number from 1 to 1000")]
    #[case::large("a=1001", "\"1001\" is not a weight; use a number from 1 to 1000")]
    #[case::text("a=x", "\"x\" is not a weight; use a number from 1 to 1000")]
    #[case::none("a", "\"a\" has no value; use TENANT=WEIGHT")]
    fn a_weight_that_is_not_understood_is_refused(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(text.parse::<TenantWeights>().unwrap_err(), expected);
    }
}
