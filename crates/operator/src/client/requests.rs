//! Requests about one object: read, create, apply, change, delete. Every write but a creation is fenced by the UID and
//! resource version that the caller has read.

use std::fmt::Debug;

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;
use crate::runtime::ObjectIdentity;

/// A namespaced kind that can be read and written.
pub(crate) trait Namespaced:
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

/// Which object a server-side apply may hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApplyTo<'a> {
    /// No object of this name should exist. Without force, an object of the same name that appears in between is not
    /// overwritten.
    New,
    /// Exactly this object in exactly this version, because a later version may have another owner. Fields of other
    /// managers are taken over.
    Existing(&'a ObjectIdentity),
}

/// Reads an object from the API server, past every cache.
pub(crate) async fn read<K: Namespaced>(
    client: &Client,
    action: &'static str,
    key: &ObjectKey,
) -> Result<Option<K>, ApiError> {
    let api = Api::<K>::namespaced(client.clone(), &key.namespace);
    call(action, api.get_opt(&key.name)).await
}

/// Server-side apply; returns the object as it is afterwards.
pub(crate) async fn apply<K: Namespaced>(
    client: &Client,
    action: &'static str,
    key: &ObjectKey,
    mut body: Map<String, Value>,
    to: ApplyTo<'_>,
) -> Result<K, ApiError> {
    let mut params = PatchParams::apply(FIELD_MANAGER).validation_strict();
    if let ApplyTo::Existing(identity) = to {
        params = params.force();
        if let Some(metadata) = body.get_mut("metadata") {
            fence(metadata, identity);
        }
    }
    let api = Api::<K>::namespaced(client.clone(), &key.namespace);
    call(action, api.patch(&key.name, &params, &Patch::Apply(body))).await
}

/// Creates an object. If one of this name exists, whoever owns it, the answer is a conflict and it stays as it is.
pub(crate) async fn create<K: Namespaced>(
    client: &Client,
    action: &'static str,
    key: &ObjectKey,
    body: &Value,
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

/// Changes these fields of the object, and no others.
pub(crate) async fn change<K: Namespaced>(
    client: &Client,
    action: &'static str,
    identity: &ObjectIdentity,
    mut fields: Value,
) -> Result<K, ApiError> {
    fence(&mut fields["metadata"], identity);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let api = Api::<K>::namespaced(client.clone(), &identity.key.namespace);
    call(action, api.patch(&identity.key.name, &params, &Patch::Merge(fields))).await
}

/// Deletes the object. If somebody has changed it since it was read, it may have got another owner: then the answer is a
/// conflict and nothing is deleted. An object that is gone already is no error.
pub(crate) async fn delete<K: Namespaced>(
    client: &Client,
    action: &'static str,
    identity: &ObjectIdentity,
) -> Result<(), ApiError> {
    let ObjectIdentity { key, uid, version } = identity;
    let unchanged = Preconditions { uid: Some(uid.clone()), resource_version: Some(version.clone()) };
    let params = DeleteParams::background().preconditions(unchanged);
    let api = Api::<K>::namespaced(client.clone(), &key.namespace);
    let delete = async {
        match api.delete(&key.name, &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            answer => answer.map(drop),
        }
    };
    call(action, delete).await
}

/// The API server refuses a patch whose metadata names another UID or resource version than the object has.
fn fence(metadata: &mut Value, identity: &ObjectIdentity) {
    metadata["uid"] = json!(identity.uid);
    metadata["resourceVersion"] = json!(identity.version);
}
