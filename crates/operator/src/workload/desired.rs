//! The desired objects of a resource, as they are sent.

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Resource;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::SUCCEEDS;
use super::accounts::DesiredAccount;
use super::immutables::ImmutableFields;
use super::owner::ResourceOwner;
use crate::key::ObjectKey;
use crate::render::{RenderError, RenderedWorkload};

#[derive(Clone, Debug, PartialEq)]
pub struct DesiredWorkload {
    /// The ServiceAccount of the Pods, unless they have another one.
    pub account: Option<DesiredAccount>,
    pub stateful_set: DesiredStatefulSet,
    pub service: Option<DesiredChild>,
    pub budget: Option<DesiredChild>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DesiredStatefulSet {
    pub key: ObjectKey,
    pub immutables: ImmutableFields,
    body: Map<String, Value>,
}

/// A Service or disruption budget.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredChild {
    pub kind: String,
    pub key: ObjectKey,
    pub body: Map<String, Value>,
}

impl DesiredWorkload {
    pub fn of(rendered: &RenderedWorkload, owner: &ResourceOwner) -> Result<Self, RenderError> {
        Ok(Self {
            account: Some(rendered.account.clone()),
            stateful_set: DesiredStatefulSet::of(&rendered.stateful_set, owner)?,
            service: Some(DesiredChild::of(&rendered.service, owner)),
            budget: rendered.budget.as_ref().map(|budget| DesiredChild::of(budget, owner)),
        })
    }
}

impl DesiredStatefulSet {
    /// `set` may be JSON, because parts of its template may be newer than the types here.
    pub fn of(set: &impl Serialize, owner: &ResourceOwner) -> Result<Self, RenderError> {
        let body = body(set, owner);
        let typed = serde_json::from_value::<StatefulSet>(Value::Object(body.clone()));
        let set = typed.map_err(|error| RenderError::StatefulSet(error.to_string()))?;
        let key = ObjectKey::new(owner.key.namespace.clone(), set.metadata.name.unwrap_or_default());
        Ok(Self { key, immutables: ImmutableFields::of(set.spec.as_ref()), body })
    }

    /// The body with the mark of a successor. Once written, the mark must stay: the status that records the successor may
    /// still be under way.
    pub fn body(&self, succeeds: Option<&str>) -> Map<String, Value> {
        let mut body = self.body.clone();
        if let (Some(succeeds), Some(metadata)) = (succeeds, body.get_mut("metadata")) {
            metadata["annotations"][SUCCEEDS] = json!(succeeds);
        }
        body
    }
}

impl DesiredChild {
    pub fn of<K: Resource<DynamicType = ()> + Serialize>(object: &K, owner: &ResourceOwner) -> Self {
        let name = object.meta().name.clone().unwrap_or_default();
        Self {
            kind: K::kind(&()).into_owned(),
            key: ObjectKey::new(owner.key.namespace.clone(), name),
            body: body(object, owner),
        }
    }
}

/// The fields of an object that the operator means to own. Every field that is applied becomes the operator's, so the
/// status, the metadata that the API server keeps, and nulls are left out.
pub fn body(object: &impl Serialize, owner: &ResourceOwner) -> Map<String, Value> {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    remove_nulls(&mut value);
    let Value::Object(mut body) = value else { return Map::new() };
    body.remove("status");
    let mut metadata = match body.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "labels" | "annotations"));
    metadata.insert("ownerReferences".to_owned(), json!([owner.reference()]));
    body.insert("metadata".to_owned(), Value::Object(metadata));
    body
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
