//! Writes a status: the fields that the operator owns, to exactly the object that was observed, and only if they changed.

use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};
use crate::runtime::{Cache, CachedResource};

/// Applies a status. It carries UID and resource version of the object that it was computed from: a conflict means that
/// the object has changed and nothing was written. `None`: the object is gone.
pub async fn apply<K, S>(client: &Client, object: &K, status: &S) -> Result<Option<K>, ApiError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
    S: Serialize,
{
    let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let body = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "uid": object.uid(), "resourceVersion": object.resource_version() },
        "status": status,
    });
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let write = async {
        match api.patch_status(&object.name_any(), &params, &Patch::Apply(body)).await {
            Err(kube::Error::Api(answer)) if answer.code == 404 => Ok(None),
            answer => answer.map(Some),
        }
    };
    call("write the status", write).await
}

/// Applies a status unless `before`, what the object has of it, is the same, and caches the result. `false`: the object is
/// gone.
pub async fn update<K, S>(
    client: &Client,
    cache: &Cache<CachedResource<K>>,
    object: &K,
    before: Option<&S>,
    after: &S,
) -> Result<bool, ApiError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug
        + Send
        + Sync
        + 'static,
    S: Serialize + PartialEq,
{
    if before == Some(after) {
        return Ok(true);
    }
    let Some(written) = apply(client, object, after).await? else { return Ok(false) };
    cache.put(CachedResource::from(written));
    Ok(true)
}
