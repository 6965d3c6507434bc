//! Publishes the CA bundle in the webhook configuration.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleState {
    UpToDate,
    Written,
    /// The webhook configuration does not exist.
    NoConfiguration,
}

/// Writes the bundle into every webhook of the configuration that has another one, and changes nothing else.
pub async fn publish(
    api: &Api<ValidatingWebhookConfiguration>,
    name: &str,
    bundle: &str,
) -> Result<BundleState, ApiError> {
    let Some(live) = call("read the webhook configuration", api.get_opt(name)).await? else {
        return Ok(BundleState::NoConfiguration);
    };
    let Some(patch) = patch(&live, bundle) else { return Ok(BundleState::UpToDate) };
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    call("publish the CA bundle of the webhook", api.patch(name, &params, &Patch::Strategic(patch))).await?;
    tracing::info!(configuration = name, "published the CA bundle of the webhook");
    Ok(BundleState::Written)
}

/// A strategic merge patch, which merges webhooks by name, for the version that was read.
fn patch(live: &ValidatingWebhookConfiguration, bundle: &str) -> Option<Value> {
    let bundle = ByteString(bundle.as_bytes().to_vec());
    let stale =
        live.webhooks.iter().flatten().filter(|hook| hook.client_config.ca_bundle.as_ref() != Some(&bundle));
    let webhooks: Vec<_> =
        stale.map(|hook| json!({ "name": hook.name, "clientConfig": { "caBundle": bundle } })).collect();
    let metadata = json!({ "resourceVersion": live.metadata.resource_version });
    (!webhooks.is_empty()).then(|| json!({ "metadata": metadata, "webhooks": webhooks }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::configuration::{WebhookEndpoint, configuration};

    #[test]
    fn only_bundles_that_differ_are_written_and_only_to_the_version_that_was_read() {
        let endpoint = WebhookEndpoint::Url("https://127.0.0.1:1".into());
        let mut live = configuration("c", &endpoint, Some("new"));
        live.metadata.resource_version = Some("7".into());
        assert_eq!(patch(&live, "new"), None);
        live.webhooks.as_mut().unwrap()[1].client_config.ca_bundle = None;
        assert_eq!(
            patch(&live, "new").unwrap(),
            json!({
                "metadata": { "resourceVersion": "7" },
                "webhooks": [{ "name": "vmafxnode.vmafx.dev", "clientConfig": { "caBundle": "bmV3" } }],
            })
        );
    }
}
