//! An object that may not fit its type, and is not read before somebody asks.
//!
//! A list in which one object does not fit must not fail as a whole; so it is only cut into objects, and each stays text
//! until it is wanted. Who manages which field is most of that text, nobody here asks for it, and it is never read.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::identity::ObjectIdentity;
use crate::key::ObjectKey;

/// The object as the API server wrote it.
#[derive(Clone, Debug)]
pub struct RawObject<K> {
    text: String,
    of: PhantomData<fn() -> K>,
}

/// What every object has.
#[derive(Deserialize)]
#[serde(bound(deserialize = "M: Deserialize<'de>"))]
struct Any<M> {
    metadata: M,
}

/// The part of the metadata that tells objects apart.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Names {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
}

/// The part of the metadata that nobody asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Managed<'a> {
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

impl<K: DeserializeOwned> RawObject<K> {
    /// The object but for its managed fields, or why it does not fit.
    pub fn read(&self) -> serde_json::Result<K> {
        serde_json::from_str(&without_managers(&self.text))
    }
}

impl<K> RawObject<K> {
    /// Of an object's text.
    pub(super) fn new(text: String) -> Self {
        Self { text, of: PhantomData }
    }

    /// What it is called, and its version; empty for what has no metadata.
    pub fn identity(&self) -> ObjectIdentity {
        let any: serde_json::Result<Any<Names>> = serde_json::from_str(&self.text);
        let Names { name, namespace, uid, resource_version } =
            any.map(|any| any.metadata).unwrap_or_default();
        ObjectIdentity { key: ObjectKey::new(namespace, name), uid, version: resource_version }
    }
}

/// The same text with nothing in the place of the managed fields: as a tree they take longer to read than all the rest.
fn without_managers(text: &str) -> Cow<'_, str> {
    let found: serde_json::Result<Any<Managed<'_>>> = serde_json::from_str(text);
    let Some(managed) = found.ok().and_then(|any| any.metadata.managed_fields) else {
        return Cow::Borrowed(text);
    };
    let begin = managed.get().as_ptr().addr() - text.as_ptr().addr();
    let (before, after) = (&text[..begin], &text[begin + managed.get().len()..]);
    Cow::Owned([before, "null", after].concat())
}

impl<'de, K> Deserialize<'de> for RawObject<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        Ok(Self::new(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt as _;
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
        let list: ObjectList<RawObject<VmafxNode>> = serde_json::from_str(&list.to_string()).unwrap();
        let [first, second] = <[_; 2]>::try_from(list.items).unwrap();
        assert_eq!(first.read().unwrap().metadata.name.as_deref(), Some("a"));
        let identity = second.identity();
        assert_eq!((identity.uid.as_str(), identity.key), ("u", ObjectKey::new("", "b")));
        let error = second.read().unwrap_err().to_string();
        assert!(error.contains("abacus"), "{error}");
    }

    /// An event as the API server writes it: the type comes first.
    fn added(object: &serde_json::Value) -> serde_json::Result<WatchEvent<RawObject<VmafxNode>>> {
        serde_json::from_str(&format!(r#"{{"type":"ADDED","object":{object}}}"#))
    }

    #[test]
    fn the_same_holds_for_changes_and_nothing_is_none() {
        for (vendor, fits) in [("abacus", false), ("cpu", true)] {
            let event = added(&node("b", vendor)).unwrap();
            let WatchEvent::Added(object) = event else { panic!("{event:?}") };
            assert_eq!(object.read().is_ok(), fits, "{vendor}");
        }
        let event = added(&json!({ "spec": {} })).unwrap();
        let WatchEvent::Added(object) = event else { panic!("{event:?}") };
        assert_eq!(object.identity(), ObjectIdentity::default(), "which the watch refuses");
    }

    #[test]
    fn all_is_read_but_who_manages_it() {
        let mut node = node("a", "cpu");
        let text = "] } \"managedFields\": [ { \u{1f3ac}";
        node["metadata"]["annotations"] = json!({ "a": text, "managedFields": "mine" });
        node["metadata"]["managedFields"] =
            json!([{ "manager": "m", "fieldsV1": { "f:spec": { text: {} } } }]);
        for last in [false, true] {
            node["metadata"]["zone"] = if last { json!(null) } else { json!([1]) };
            let raw_object: RawObject<VmafxNode> = serde_json::from_str(&node.to_string()).unwrap();
            let read = raw_object.read().unwrap();
            assert_eq!(read.annotations()["a"], text);
            assert_eq!(
                (read.annotations()["managedFields"].as_str(), read.managed_fields()),
                ("mine", &[][..])
            );
            assert_eq!((read.name_any().as_str(), read.spec.capacity), ("a", 1));
        }
    }
}
