//! Labels whose values come from clients, limited in number.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use super::label::MetricLabel;

/// Replaces every value beyond the limit.
const OTHER: &str = "other";

/// A longer value is truncated to this many bytes.
const MAX_VALUE_BYTES: usize = 128;

/// Declares an open label: `struct Tenant; impl OpenLabel for Tenant { … }`.
pub trait OpenLabel: Send + Sync + 'static {
    const NAME: &'static str;

    /// Number of values that one process reports by name.
    const LIMIT: usize;
}

/// A value of an open label; only [`OpenLabelValues::get`] creates one with a value.
pub struct OpenLabelValue<K> {
    value: &'static str,
    label: PhantomData<fn() -> K>,
}

impl<K: OpenLabel> OpenLabelValue<K> {
    /// No value: the label is left out.
    pub fn none() -> Self {
        Self { value: "", label: PhantomData }
    }
}

impl<K: OpenLabel> MetricLabel for OpenLabelValue<K> {
    const NAME: &'static str = K::NAME;

    fn value(&self) -> &'static str {
        self.value
    }

    fn all() -> Vec<Self> {
        Vec::new()
    }
}

// Implemented by hand, because a derive would require the same traits of the marker type `K`.
impl<K> Clone for OpenLabelValue<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for OpenLabelValue<K> {}

impl<K> PartialEq for OpenLabelValue<K> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<K> Eq for OpenLabelValue<K> {}

impl<K> Hash for OpenLabelValue<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl<K> fmt::Debug for OpenLabelValue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.value, f)
    }
}

/// The values of an open label that are reported by name: first come, first served. There is one per process and
/// label, so that all metrics agree on which values are `other`.
#[derive(Debug)]
pub struct OpenLabelValues<K> {
    values: Mutex<HashSet<&'static str>>,
    label: PhantomData<fn() -> K>,
}

impl<K: OpenLabel> OpenLabelValues<K> {
    pub fn new() -> Self {
        Self { values: Mutex::default(), label: PhantomData }
    }

    /// The value itself, or `other` once the limit is reached.
    pub fn get(&self, value: &str) -> OpenLabelValue<K> {
        let value = &value[..value.floor_char_boundary(MAX_VALUE_BYTES)];
        // A poisoned lock is taken over: a single insert cannot leave the set inconsistent.
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = match values.get(value) {
            Some(value) => value,
            None if values.len() < K::LIMIT => {
                // Leaked, because the series lives as long as the process; the limit bounds the total.
                let value: &'static str = Box::leak(value.to_owned().into_boxed_str());
                values.insert(value);
                value
            }
            None => OTHER,
        };
        OpenLabelValue { value, label: PhantomData }
    }
}

impl<K: OpenLabel> Default for OpenLabelValues<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Tenant;

    impl OpenLabel for Tenant {
        const NAME: &'static str = "tenant";
        const LIMIT: usize = 2;
    }

    #[test]
    fn values_beyond_the_limit_become_other_and_known_ones_stay() {
        let tenants = OpenLabelValues::<Tenant>::new();
        let reported = ["a", "b", "c", "a", "d"].map(|name| tenants.get(name).value());
        assert_eq!(reported, ["a", "b", "other", "a", "other"]);
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let tenants = OpenLabelValues::<Tenant>::new();
        assert_eq!(tenants.get(&"é".repeat(100)).value().len(), 128);
        assert_eq!(tenants.get(&format!("x{}", "é".repeat(100))).value().len(), 127);
    }

    proptest! {
        #[test]
        fn no_input_makes_more_than_the_limit_and_other(names in prop::collection::vec(".{0,8}", 0..50)) {
            let tenants = OpenLabelValues::<Tenant>::new();
            let reported: HashSet<_> = names.iter().map(|name| tenants.get(name).value()).collect();
            prop_assert!(reported.len() <= Tenant::LIMIT + 1);
        }
    }
}
