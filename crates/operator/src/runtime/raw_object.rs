//! An object as JSON text, which is decoded on demand.
//!
//! A list in which one object cannot be decoded must not fail as a whole; so a list is only split into objects, and each
//! stays text until it is decoded. Managed fields are most of that text; they are not used, so they are never decoded.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::identity::ObjectIdentity;
use crate::key::ObjectKey;

#[derive(Clone, Debug)]
pub struct RawObject<K> {
    text: String,
    of: PhantomData<fn() -> K>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "M: Deserialize<'de>"))]
struct WithMetadata<M> {
    metadata: M,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Names {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Managed<'a> {
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

impl<K: DeserializeOwned> RawObject<K> {
    /// The object without its managed fields.
    pub fn decode(&self) -> serde_json::Result<K> {
        serde_json::from_str(&without_managed_fields(&self.text))
    }
}

impl<K> RawObject<K> {
    fn new(text: String) -> Self {
        Self { text, of: PhantomData }
    }

    /// Empty for an object without metadata.
    pub fn identity(&self) -> ObjectIdentity {
        let object: serde_json::Result<WithMetadata<Names>> = serde_json::from_str(&self.text);
        let Names { name, namespace, uid, resource_version } =
            object.map(|object| object.metadata).unwrap_or_default();
        ObjectIdentity { key: ObjectKey::new(namespace, name), uid, version: resource_version }
    }
}

/// The text with `null` as managed fields, whose decoding takes longer than that of everything else.
fn without_managed_fields(text: &str) -> Cow<'_, str> {
    let object: serde_json::Result<WithMetadata<Managed<'_>>> = serde_json::from_str(text);
    let Some(managed) = object.ok().and_then(|object| object.metadata.managed_fields) else {
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
    fn an_undecodable_object_does_not_hide_the_others() {
        let list = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNodeList", "metadata": { "resourceVersion": "7" },
            "items": [node("a", "cpu"), node("b", "abacus")],
        });
        let list: ObjectList<RawObject<VmafxNode>> = serde_json::from_str(&list.to_string()).unwrap();
        let [first, second] = <[_; 2]>::try_from(list.items).unwrap();
        assert_eq!(first.decode().unwrap().metadata.name.as_deref(), Some("a"));
        let identity = second.identity();
        assert_eq!((identity.uid.as_str(), identity.key), ("u", ObjectKey::new("", "b")));
        let error = second.decode().unwrap_err().to_string();
        assert!(error.contains("abacus"), "{error}");
    }

    /// An event as the API server writes it: the type comes first.
    fn added(object: &serde_json::Value) -> serde_json::Result<WatchEvent<RawObject<VmafxNode>>> {
        serde_json::from_str(&format!(r#"{{"type":"ADDED","object":{object}}}"#))
    }

    #[test]
    fn the_same_holds_for_changes_and_an_object_without_metadata_has_no_identity() {
        for (vendor, fits) in [("abacus", false), ("cpu", true)] {
            let event = added(&node("b", vendor)).unwrap();
            let WatchEvent::Added(object) = event else { panic!("{event:?}") };
            assert_eq!(object.decode().is_ok(), fits, "{vendor}");
        }
        let event = added(&json!({ "spec": {} })).unwrap();
        let WatchEvent::Added(object) = event else { panic!("{event:?}") };
        assert_eq!(object.identity(), ObjectIdentity::default(), "the watch refuses it");
    }

    #[test]
    fn everything_is_decoded_but_the_managed_fields() {
        let mut node = node("a", "cpu");
        let text = "] } \"managedFields\": [ { \u{1f3ac}";
        node["metadata"]["annotations"] = json!({ "a": text, "managedFields": "mine" });
        node["metadata"]["managedFields"] =
            json!([{ "manager": "m", "fieldsV1": { "f:spec": { text: {} } } }]);
        for last in [false, true] {
            node["metadata"]["zone"] = if last { json!(null) } else { json!([1]) };
            let raw_object: RawObject<VmafxNode> = serde_json::from_str(&node.to_string()).unwrap();
            let decoded = raw_object.decode().unwrap();
            assert_eq!(decoded.annotations()["a"], text);
            assert_eq!(
                (decoded.annotations()["managedFields"].as_str(), decoded.managed_fields()),
                ("mine", &[][..])
            );
            assert_eq!((decoded.name_any().as_str(), decoded.spec.capacity), ("a", 1));
        }
    }
}
