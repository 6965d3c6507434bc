//! Installing custom resource definitions.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation, JSONSchemaProps,
};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::runtime::conditions;
use kube::runtime::wait::Condition as _;
use kube::{Api, Client, ResourceExt as _};

use crate::wait;

/// Time within which the API server must serve the resource of a new definition.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum CrdError {
    #[error("the API server refused the definition {name}")]
    Refused {
        name: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("the API server does not serve the resource of {name}")]
    NotServed {
        name: String,
        #[source]
        source: wait::TimedOut,
    },
}

/// Installs or updates definitions and returns once every served version of each can be listed.
///
/// "Established" is not enough: for a moment after it the API server still answers 404. Several tests may install the
/// same definitions at the same time.
pub async fn install_crds(client: &Client, crds: &[CustomResourceDefinition]) -> Result<(), CrdError> {
    for crd in crds {
        apply(client, crd).await?;
    }
    for crd in crds {
        let name = crd.name_any();
        wait_until_served(client, crd).await.map_err(|source| CrdError::NotServed { name, source })?;
    }
    Ok(())
}

/// The same definition without its schema: it accepts objects that the real one rejects, like one of another release.
#[must_use]
pub fn without_schema(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let anything = JSONSchemaProps {
            type_: Some("object".to_owned()),
            x_kubernetes_preserve_unknown_fields: Some(true),
            ..JSONSchemaProps::default()
        };
        version.schema = Some(CustomResourceValidation { open_api_v3_schema: Some(anything) });
        version.selectable_fields = None;
    }
    crd
}

/// Server-side apply both creates and updates. Only two concurrent creations can collide; the loser gets 409 and
/// retries.
async fn apply(client: &Client, crd: &CustomResourceDefinition) -> Result<(), CrdError> {
    let name = crd.name_any();
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let params = PatchParams::apply("vmafx-testkit").force();
    let applied = wait::until(DEADLINE, "the definition to be applied", || async {
        match api.patch(&name, &params, &Patch::Apply(crd)).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Err(status.message.clone()),
            other => Ok(other),
        }
    });
    match applied.await {
        Ok(applied) => applied
            .map(drop)
            .map_err(|source| CrdError::Refused { name: crd.name_any(), source: Box::new(source) }),
        Err(source) => Err(CrdError::NotServed { name: crd.name_any(), source }),
    }
}

async fn wait_until_served(client: &Client, crd: &CustomResourceDefinition) -> Result<(), wait::TimedOut> {
    let name = crd.name_any();
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    wait::until(DEADLINE, &format!("{name} to be established"), || async {
        let definition = definitions.get_opt(&name).await.map_err(|error| error.to_string())?;
        let established = conditions::is_crd_established().matches_object(definition.as_ref());
        established.then_some(()).ok_or_else(|| "not established".to_owned())
    })
    .await?;
    let spec = &crd.spec;
    for version in spec.versions.iter().filter(|version| version.served) {
        let kind = GroupVersionKind::gvk(&spec.group, &version.name, &spec.names.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &spec.names.plural);
        let objects = Api::<DynamicObject>::all_with(client.clone(), &resource);
        let one = ListParams::default().limit(1);
        wait::until(DEADLINE, &format!("{name} {} to be served", version.name), || objects.list(&one))
            .await?;
    }
    Ok(())
}
