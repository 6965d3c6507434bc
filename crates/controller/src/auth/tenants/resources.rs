//! The VmafxTenant resources of one namespace.
//!
//! Whoever may write them decides who is who for the whole controller, so they are read from the controller's own namespace
//! only, where nobody but the administrator of the platform has a reason to write.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, CustomResourceExt as _, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_api::{VmafxTenant, VmafxTenantStatus};

use super::document::TenantDocument;
use super::status;
use super::verdict::TenantVerdict;
use crate::node_status::FIELD_MANAGER;

const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// For all statuses of one refresh. Those that are not written by then are written after the next one.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

const MAX_CONCURRENT_WRITES: usize = 8;

const CONFLICT: u16 = 409;
const NOT_FOUND: u16 = 404;

#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error("the API server does not list the VmafxTenants of namespace {namespace}")]
    Refused {
        namespace: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("the API server did not list the VmafxTenants within {LIST_TIMEOUT:?}")]
    Timeout,
}

/// A VmafxTenant with what its status depends on.
pub(super) struct TenantResource {
    pub(super) document: TenantDocument,
    uid: Option<String>,
    resource_version: Option<String>,
    pub(super) generation: Option<i64>,
    pub(super) status: Option<VmafxTenantStatus>,
}

pub(crate) struct TenantResources {
    api: Api<DynamicObject>,
    namespace: String,
}

impl TenantResources {
    pub(crate) fn new(client: Client, namespace: String) -> Self {
        // Untyped, because one object that does not have the type would make the whole list unreadable.
        let resource: ApiResource = VmafxTenant::api_resource();
        Self { api: Api::namespaced_with(client, &namespace, &resource), namespace }
    }

    pub(super) async fn list(&self) -> Result<Vec<TenantResource>, ListError> {
        let list = tokio::time::timeout(LIST_TIMEOUT, self.api.list(&ListParams::default())).await;
        let list = list.map_err(|_| ListError::Timeout)?.map_err(|source| ListError::Refused {
            namespace: self.namespace.clone(),
            source: Box::new(source),
        })?;
        Ok(list.items.into_iter().map(TenantResource::from).collect())
    }

    /// Writes the statuses that differ from the verdicts. A status carries the resource version of the read that found it
    /// different, so of several controllers one writes it, and the others find it written.
    pub(super) async fn report(&self, resources: &[TenantResource], verdicts: &[TenantVerdict], now: i64) {
        let due = resources.iter().zip(verdicts).filter_map(|(resource, verdict)| {
            Some((resource, status::next(resource.status.as_ref(), resource.generation, verdict, now)?))
        });
        let writes =
            stream::iter(due).for_each_concurrent(MAX_CONCURRENT_WRITES, |(resource, next)| async move {
                if let Err(error) = self.write(resource, &next).await {
                    let (name, error) = (&resource.document.name, &error as &dyn std::error::Error);
                    tracing::warn!(name, error, "cannot write the status of a VmafxTenant");
                }
            });
        if tokio::time::timeout(WRITE_TIMEOUT, writes).await.is_err() {
            tracing::warn!("the statuses of the VmafxTenants were not written within {WRITE_TIMEOUT:?}");
        }
    }

    async fn write(&self, resource: &TenantResource, next: &VmafxTenantStatus) -> kube::Result<()> {
        let kind = VmafxTenant::api_resource();
        let patch = json!({
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": { "uid": resource.uid, "resourceVersion": resource.resource_version },
            "status": next,
        });
        let forced = PatchParams::apply(FIELD_MANAGER).force();
        match self.api.patch_status(&resource.document.name, &forced, &Patch::Apply(patch)).await {
            Err(kube::Error::Api(status)) if matches!(status.code, CONFLICT | NOT_FOUND) => Ok(()),
            other => other.map(drop),
        }
    }
}

impl From<DynamicObject> for TenantResource {
    fn from(mut object: DynamicObject) -> Self {
        let spec = object.data["spec"].take();
        let status: Value = object.data["status"].take();
        Self {
            document: TenantDocument { name: object.name_any(), spec },
            uid: object.uid(),
            resource_version: object.resource_version(),
            generation: object.metadata.generation,
            status: serde_json::from_value(status).ok(),
        }
    }
}

impl std::fmt::Debug for TenantResources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TenantResources").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
