//! Labels whose values come from outside, limited in number.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use super::label::Label;

/// What all values beyond the limit are counted as.
const OTHER: &str = "other";

/// A longer value is cut: a label is a name, not a document.
const LONGEST: usize = 128;

/// Declares an open label: `struct Tenant; impl OpenLabel for Tenant { … }`.
pub trait OpenLabel: Send + Sync + 'static {
    /// The label's name.
    const NAME: &'static str;

    /// How many values one process reports by name.
    const LIMIT: usize;
}

/// A value of an open label; only [`OpenValues::get`] makes one.
pub struct Open<K> {
    value: &'static str,
    label: PhantomData<fn() -> K>,
}

impl<K: OpenLabel> Label for Open<K> {
    const NAME: &'static str = K::NAME;

    fn value(&self) -> &'static str {
        self.value
    }

    fn all() -> Vec<Self> {
        Vec::new()
    }
}

// By hand, because a derive would ask the same of `K`, which is only a name.
impl<K> Clone for Open<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Open<K> {}

impl<K> PartialEq for Open<K> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<K> Eq for Open<K> {}

impl<K> Hash for Open<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl<K> fmt::Debug for Open<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.value, f)
    }
}

/// The values of an open label that are reported by name: first come, first served. One per process and label,
/// so that all metrics agree on who is `other`.
#[derive(Debug)]
pub struct OpenValues<K> {
    known: Mutex<HashSet<&'static str>>,
    label: PhantomData<fn() -> K>,
}

impl<K: OpenLabel> OpenValues<K> {
    /// No values yet.
    pub fn new() -> Self {
        Self { known: Mutex::default(), label: PhantomData }
    }

    /// The label for a value: itself, or `other` once the limit is reached.
    pub fn get(&self, value: &str) -> Open<K> {
        let value = &value[..value.floor_char_boundary(LONGEST)];
        // A set of strings is whole whatever its last holder was doing.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let value = match known.get(value) {
            Some(known) => known,
            None if known.len() < K::LIMIT => {
                // Kept for the life of the process, like the series it names; the limit bounds the sum.
                let value: &'static str = Box::leak(value.to_owned().into_boxed_str());
                known.insert(value);
                value
            }
            None => OTHER,
        };
        Open { value, label: PhantomData }
    }
}

impl<K: OpenLabel> Default for OpenValues<K> {
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
        let tenants = OpenValues::<Tenant>::new();
        let seen = ["a", "b", "c", "a", "d"].map(|name| tenants.get(name).value());
        assert_eq!(seen, ["a", "b", "other", "a", "other"]);
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let tenants = OpenValues::<Tenant>::new();
        assert_eq!(tenants.get(&"é".repeat(100)).value().len(), 128);
        assert_eq!(tenants.get(&format!("x{}", "é".repeat(100))).value().len(), 127);
    }

    proptest! {
        #[test]
        fn no_input_makes_more_than_the_limit_and_other(names in prop::collection::vec(".{0,8}", 0..50)) {
            let tenants = OpenValues::<Tenant>::new();
            let seen: HashSet<_> = names.iter().map(|name| tenants.get(name).value()).collect();
            prop_assert!(seen.len() <= Tenant::LIMIT + 1);
        }
    }
}
