//! The `ValidatingWebhookConfiguration` that makes the API server call the webhooks.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use kube::Resource;
use kube::core::ObjectMeta;
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};
use vmafx_kit::metrics::MetricLabel;

use super::rules::ReviewedKind;
use super::server;

/// How the API server reaches the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookEndpoint {
    Service {
        namespace: String,
        name: String,
        port: u16,
    },
    /// Such as `https://127.0.0.1:9443`.
    Url(String),
}

/// The configuration for all kinds. `bundle` is `None` if the operator itself or cert-manager adds it.
pub fn configuration(
    name: &str,
    endpoint: &WebhookEndpoint,
    bundle: Option<&str>,
) -> ValidatingWebhookConfiguration {
    ValidatingWebhookConfiguration {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        webhooks: Some(ReviewedKind::all().into_iter().map(|kind| webhook(kind, endpoint, bundle)).collect()),
    }
}

fn webhook(kind: ReviewedKind, endpoint: &WebhookEndpoint, bundle: Option<&str>) -> ValidatingWebhook {
    let strings = |list: &[&str]| Some(list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
    ValidatingWebhook {
        name: format!("{}.{}", kind.value().to_lowercase(), vmafx_api::GROUP),
        admission_review_versions: vec!["v1".to_owned()],
        client_config: client(kind, endpoint, bundle),
        // An object that was not checked must not be stored: the operator would report its errors only later.
        failure_policy: Some("Fail".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(5),
        rules: Some(vec![RuleWithOperations {
            api_groups: strings(&[vmafx_api::GROUP]),
            api_versions: strings(&["v1"]),
            operations: strings(&["CREATE", "UPDATE"]),
            resources: strings(&[&plural(kind)]),
            scope: Some("Namespaced".to_owned()),
        }]),
        ..ValidatingWebhook::default()
    }
}

fn client(kind: ReviewedKind, endpoint: &WebhookEndpoint, bundle: Option<&str>) -> WebhookClientConfig {
    let path = server::path(kind);
    let ca_bundle = bundle.map(|pem| ByteString(pem.as_bytes().to_vec()));
    match endpoint {
        WebhookEndpoint::Url(base) => WebhookClientConfig {
            ca_bundle,
            url: Some(format!("{base}{path}")),
            ..WebhookClientConfig::default()
        },
        WebhookEndpoint::Service { namespace, name, port } => WebhookClientConfig {
            ca_bundle,
            service: Some(ServiceReference {
                namespace: namespace.clone(),
                name: name.clone(),
                path: Some(path),
                port: Some(i32::from(*port)),
            }),
            url: None,
        },
    }
}

fn plural(kind: ReviewedKind) -> String {
    match kind {
        ReviewedKind::Job => VmafxJob::plural(&()),
        ReviewedKind::Node => VmafxNode::plural(&()),
        ReviewedKind::Training => VmafxModelTraining::plural(&()),
    }
    .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_as_it_is_installed() {
        let endpoint = WebhookEndpoint::Service {
            namespace: "vmafx-system".into(),
            name: "vmafx-operator-webhook".into(),
            port: 443,
        };
        insta::assert_json_snapshot!(configuration("vmafx-operator", &endpoint, None));
    }
}
