//! The requests: read one, apply one, delete one.

use std::fmt::Debug;

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::owner::Owner;
use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;
use crate::runtime::Identity;

/// A kind of object that lives in a namespace.
pub trait Namespaced:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Namespaced for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Against whom an apply may win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apply<'a> {
    /// Against nobody: there should be no such object. A namesake that appears in between is not overwritten.
    New,
    /// Against everybody, but only if it is still this one, and as it was: it may have got another owner since.
    Fenced(&'a Identity),
}

/// What is sent for an object: what we mean and nothing else. Every field that is sent becomes ours, so the status, what
/// the API server keeps in the metadata, and nulls are left out.
pub fn body(object: &impl Serialize, owner: &Owner) -> Map<String, Value> {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    without_nulls(&mut value);
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

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// Reads one, past every cache.
pub(crate) async fn read<K: Namespaced>(
    client: &Client,
    action: &'static str,
    key: &ObjectKey,
) -> Result<Option<K>, ApiError> {
    let api = Api::<K>::namespaced(client.clone(), &key.namespace);
    call(action, api.get_opt(&key.name)).await
}

/// Applies a body; what became of it.
pub(crate) async fn apply<K: Namespaced>(
    client: &Client,
    action: &'static str,
    key: &ObjectKey,
    mut body: Map<String, Value>,
    apply: Apply<'_>,
) -> Result<K, ApiError> {
    let mut params = PatchParams::apply(FIELD_MANAGER).validation_strict();
    if let Apply::Fenced(identity) = apply {
        params = params.force();
        if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
            metadata.insert("uid".to_owned(), json!(identity.uid));
            metadata.insert("resourceVersion".to_owned(), json!(identity.version));
        }
    }
    let api = Api::<K>::namespaced(client.clone(), &key.namespace);
    call(action, api.patch(&key.name, &params, &Patch::Apply(body))).await
}

/// Makes one; if there is one of this name already, whosever it is, that is a conflict and nothing happens to it.
pub(crate) async fn create<K: Namespaced>(
    client: &Client,
    action: &'static str,
    key: &ObjectKey,
    body: &Map<String, Value>,
) -> Result<K, ApiError> {
    let path = K::url_path(&(), Some(&key.namespace));
    let send = async {
        let body = serde_json::to_vec(body).map_err(kube::Error::SerdeError)?;
        let request =
            http::Request::post(format!("{path}?fieldManager={FIELD_MANAGER}&fieldValidation=Strict"))
                .header(http::header::CONTENT_TYPE, "application/json")
                .body(body)
                .map_err(kube::Error::HttpError)?;
        client.request(request).await
    };
    call(action, send).await
}

/// Changes these fields of that one, as it was when it was read, and no others.
pub(crate) async fn change<K: Namespaced>(
    client: &Client,
    action: &'static str,
    identity: &Identity,
    mut fields: Value,
) -> Result<K, ApiError> {
    let Identity { key, uid, version } = identity;
    fields["metadata"]["uid"] = json!(uid);
    fields["metadata"]["resourceVersion"] = json!(version);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let api = Api::<K>::namespaced(client.clone(), &key.namespace);
    call(action, api.patch(&key.name, &params, &Patch::Merge(fields))).await
}

/// Deletes that one, as it was when it was read. If somebody has changed it since, it may have got another owner, so
/// nothing is deleted and the answer is a conflict. One that is gone already is no error.
pub(crate) async fn delete<K: Namespaced>(
    client: &Client,
    action: &'static str,
    identity: &Identity,
) -> Result<(), ApiError> {
    let Identity { key, uid, version } = identity;
    let still = Preconditions { uid: Some(uid.clone()), resource_version: Some(version.clone()) };
    let params = DeleteParams::background().preconditions(still);
    let api = Api::<K>::namespaced(client.clone(), &key.namespace);
    let delete = async {
        match api.delete(&key.name, &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            answer => answer.map(drop),
        }
    };
    call(action, delete).await
}
