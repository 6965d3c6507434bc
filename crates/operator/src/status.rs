//! Writes a status: the fields that the operator owns, to exactly the object that was observed, and only if they changed.

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde::Serialize;
use serde_json::json;

use crate::FIELD_MANAGER;
use crate::client::requests::Namespaced;
use crate::error::{ApiError, call};
use crate::runtime::{Cache, CachedResource};

/// Applies a status. It carries UID and resource version of the object that it was computed from: a conflict means that
/// the object has changed and nothing was written. `None`: the object is gone.
pub(crate) async fn apply<K: Namespaced>(
    client: &Client,
    object: &K,
    status: &impl Serialize,
) -> Result<Option<K>, ApiError> {
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
pub(crate) async fn update<K: Namespaced, S: Serialize + PartialEq>(
    client: &Client,
    cache: &Cache<CachedResource<K>>,
    object: &K,
    before: Option<&S>,
    after: &S,
) -> Result<bool, ApiError> {
    if before == Some(after) {
        return Ok(true);
    }
    let Some(written) = apply(client, object, after).await? else { return Ok(false) };
    cache.put(CachedResource::from(written));
    Ok(true)
}
