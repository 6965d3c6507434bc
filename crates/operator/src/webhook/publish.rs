//! Publishes the CA bundle in the webhook configuration.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::FIELD_MANAGER;
use crate::authority::{BundleState, PublishBundle};
use crate::error::{ApiError, call};

/// The configuration of the webhooks at the API server.
#[derive(Debug)]
pub struct LiveConfiguration {
    pub api: Api<ValidatingWebhookConfiguration>,
    pub name: String,
}

impl PublishBundle for LiveConfiguration {
    /// Writes the bundle into every webhook of the configuration that has another one, and changes nothing else.
    /// Without a configuration there is no recipient.
    async fn publish(&self, bundle: &str) -> Result<BundleState, ApiError> {
        let Some(live) = call("read the webhook configuration", self.api.get_opt(&self.name)).await? else {
            return Ok(BundleState::NoRecipient);
        };
        let Some(patch) = patch(&live, bundle) else { return Ok(BundleState::UpToDate) };
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Strategic(patch);
        call("publish the CA bundle of the webhook", self.api.patch(&self.name, &params, &patch)).await?;
        tracing::info!(configuration = self.name, "published the CA bundle of the webhook");
        Ok(BundleState::Written)
    }
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
