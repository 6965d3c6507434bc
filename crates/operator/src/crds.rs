//! Installs the custom resource definitions that this operator was built with, or updates them to these.
//!
//! Helm installs definitions with a chart and never updates them, so the chart runs the operator for it before every
//! upgrade.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};

use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};

/// Versions of the API only grow, so stored resources stay readable.
pub async fn install(client: Client) -> Result<(), ApiError> {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let params = PatchParams::apply(FIELD_MANAGER).force();
    for definition in vmafx_api::crd::all() {
        let name = definition.name_any();
        call("apply a custom resource definition", api.patch(&name, &params, &Patch::Apply(&definition)))
            .await?;
        tracing::info!(name, "the custom resource definition is up to date");
    }
    Ok(())
}
