//! An object that may not fit its type.
//!
//! A list in which one object does not fit must not fail as a whole. The text of each object is kept while it is read, so
//! that of one that does not fit there is still the metadata; of all others nothing is read twice. The text is at hand
//! because the API server writes the type of a change before the object.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The object, or what is known of one that does not fit.
#[derive(Clone, Debug)]
pub struct Guarded<K>(pub Result<K, Unfit>);

/// An object that does not fit its type.
#[derive(Clone, Debug)]
pub struct Unfit {
    /// Which one.
    pub metadata: ObjectMeta,
    /// What is wrong with it.
    pub error: String,
}

/// What every object has.
#[derive(Deserialize)]
struct Any {
    metadata: ObjectMeta,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        serde_json::from_str(text.get()).map(Ok).map(Self).or_else(|error| {
            let Any { metadata } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
            Ok(Self(Err(Unfit { metadata, error: error.to_string() })))
        })
    }
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dt)
    }

    fn group(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dt)
    }

    fn version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dt)
    }

    fn plural(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dt)
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(unfit) => &unfit.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(unfit) => &mut unfit.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::api::{ObjectList, WatchEvent};
    use serde_json::json;
    use vmafx_api::VmafxNode;

    use super::*;

    fn node(name: &str, vendor: &str) -> serde_json::Value {
        json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": name, "uid": "u" },
            "spec": { "gpuVendor": vendor },
        })
    }

    #[test]
    fn one_that_does_not_fit_does_not_hide_the_others() {
        let list = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNodeList", "metadata": { "resourceVersion": "7" },
            "items": [node("a", "cpu"), node("b", "abacus")],
        });
        let list: ObjectList<Guarded<VmafxNode>> = serde_json::from_str(&list.to_string()).unwrap();
        let [first, second] = list.items.as_slice() else { panic!("{list:?}") };
        assert!(first.0.is_ok());
        let unfit = second.0.as_ref().unwrap_err();
        assert_eq!(unfit.metadata.name.as_deref(), Some("b"));
        assert!(unfit.error.contains("abacus"), "{}", unfit.error);
        assert_eq!(second.meta().uid.as_deref(), Some("u"));
    }

    /// An event as the API server writes it: the type comes first.
    fn added(object: &serde_json::Value) -> serde_json::Result<WatchEvent<Guarded<VmafxNode>>> {
        serde_json::from_str(&format!(r#"{{"type":"ADDED","object":{object}}}"#))
    }

    #[test]
    fn the_same_holds_for_changes_and_nothing_is_none() {
        let event = added(&node("b", "abacus")).unwrap();
        assert!(matches!(event, WatchEvent::Added(Guarded(Err(_)))), "{event:?}");
        assert!(matches!(added(&node("a", "cpu")).unwrap(), WatchEvent::Added(Guarded(Ok(_)))));
        assert!(added(&json!({ "spec": {} })).is_err());
    }
}
