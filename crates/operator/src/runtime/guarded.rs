//! An object that may not fit its type, and is not read before somebody asks.
//!
//! A list in which one object does not fit must not fail as a whole; so only what an object is called is looked at when
//! it comes. The rest stays text until it is wanted. Whoever lists page by page has the next one on its way by then, and
//! reads while the server writes.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The object as the API server wrote it.
#[derive(Clone, Debug)]
pub struct Guarded<K> {
    /// Its names and version, and nothing else.
    metadata: ObjectMeta,
    text: Box<RawValue>,
    of: std::marker::PhantomData<fn() -> K>,
}

/// What every object has.
#[derive(Deserialize)]
struct Any {
    metadata: Names,
}

/// The part of the metadata that tells objects apart. What others manage is most of the text, and is passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl<K: DeserializeOwned> Guarded<K> {
    /// The object, or why it does not fit.
    pub fn read(&self) -> serde_json::Result<K> {
        serde_json::from_str(self.text.get())
    }
}

impl<'de, K> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Any { metadata } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        let Names { name, namespace, uid, resource_version } = metadata;
        let metadata = ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() };
        Ok(Self { metadata, text, of: std::marker::PhantomData })
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
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
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
        let [first, second] = <[_; 2]>::try_from(list.items).unwrap();
        assert_eq!(first.read().unwrap().metadata.name.as_deref(), Some("a"));
        assert_eq!(second.meta().uid.as_deref(), Some("u"));
        assert_eq!(second.meta().name.as_deref(), Some("b"));
        let error = second.read().unwrap_err().to_string();
        assert!(error.contains("abacus"), "{error}");
    }

    /// An event as the API server writes it: the type comes first.
    fn added(object: &serde_json::Value) -> serde_json::Result<WatchEvent<Guarded<VmafxNode>>> {
        serde_json::from_str(&format!(r#"{{"type":"ADDED","object":{object}}}"#))
    }

    #[test]
    fn the_same_holds_for_changes_and_nothing_is_none() {
        for (vendor, fits) in [("abacus", false), ("cpu", true)] {
            let event = added(&node("b", vendor)).unwrap();
            let WatchEvent::Added(object) = event else { panic!("{event:?}") };
            assert_eq!(object.read().is_ok(), fits, "{vendor}");
        }
        assert!(added(&json!({ "spec": {} })).is_err());
    }
}
