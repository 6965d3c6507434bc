//! Installs the definitions of our kinds, or brings them up to date.
//!
//! Helm installs definitions with a chart and never touches them again, so the chart has the operator do it before
//! every upgrade: with the definitions that this operator was built with.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};

use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};

/// Applies all of them. Versions only grow, so what is stored stays readable.
pub async fn install(client: Client) -> Result<(), ApiError> {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let params = PatchParams::apply(FIELD_MANAGER).force();
    for definition in vmafx_api::crd::all() {
        let name = definition.name_any();
        call("apply a definition", api.patch(&name, &params, &Patch::Apply(&definition))).await?;
        tracing::info!(name, "the definition is up to date");
    }
    Ok(())
}
