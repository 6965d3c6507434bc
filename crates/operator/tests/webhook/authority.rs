//! The Secret with the authorities, and the CA bundle in the webhook configuration.

use futures::future::join_all;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use vmafx_kit::tls::ServerTls;
use vmafx_operator::authority::BundleState;
use vmafx_operator::rbac::{GrantScope, OperatorPart, RbacGrant, TABLE};

use crate::hook::{Hook, configurations, install, rotator, rotator_as, wait_until_called};

fn secrets(hook: &Hook) -> Api<Secret> {
    Api::namespaced(hook.ns.client(), hook.ns.name())
}

#[tokio::test]
async fn replicas_that_start_together_agree_on_one_authority() {
    let mut hook = Hook::installed("together").await;
    secrets(&hook).delete("webhook-ca", &DeleteParams::default()).await.unwrap();
    let replica = |_| rotator(&hook.ns, &hook.clock, ServerTls::in_memory(&[]).unwrap());
    let mut replicas: Vec<_> = (0..5).map(replica).collect();
    join_all(replicas.iter_mut().map(|replica| async { replica.refresh().await.unwrap() })).await;
    hook.rotator.refresh().await.unwrap();
    let expected = &hook.rotator.certificate().unwrap().authority;
    for replica in &replicas {
        assert_eq!(&replica.certificate().unwrap().authority, expected);
    }
    wait_until_called(&hook.ns).await;
}

#[tokio::test]
async fn nothing_is_written_when_nothing_changed() {
    let mut hook = Hook::installed("rest").await;
    let versions = async || {
        let secret = secrets(&hook).get("webhook-ca").await.unwrap().metadata;
        let configuration = configurations(&hook.ns).get(hook.ns.name()).await.unwrap().metadata;
        (secret.resource_version, configuration.resource_version, configuration.generation)
    };
    let before = versions().await;
    let mut other = rotator(&hook.ns, &hook.clock, ServerTls::in_memory(&[]).unwrap());
    assert_eq!(other.refresh().await.unwrap(), BundleState::UpToDate);
    assert_eq!(versions().await, before);
    assert_eq!(hook.rotator.refresh().await.unwrap(), BundleState::UpToDate);
}

#[tokio::test]
async fn a_changed_bundle_is_restored_and_nothing_else_is_written() {
    let mut hook = Hook::installed("bundle").await;
    let api = configurations(&hook.ns);
    let body = json!({ "webhooks": [
        { "name": "vmafxjob.vmafx.dev", "clientConfig": { "caBundle": null }, "timeoutSeconds": 9 },
    ] });
    let changed = api.patch(hook.ns.name(), &PatchParams::default(), &Patch::Strategic(body)).await.unwrap();
    assert_eq!(hook.rotator.refresh().await.unwrap(), BundleState::Written);
    let mut restored = api.get(hook.ns.name()).await.unwrap();
    let mut expected = changed;
    for webhook in expected.webhooks.iter_mut().flatten() {
        webhook.client_config.ca_bundle =
            Some(ByteString(hook.rotator.authorities().unwrap().bundle().into_bytes()));
    }
    expected.metadata = ObjectMeta::default();
    restored.metadata = ObjectMeta::default();
    assert_eq!(restored, expected);
}

#[tokio::test]
async fn a_secret_that_was_tampered_with_is_replaced_by_a_new_authority() {
    let mut hook = Hook::installed("tampered").await;
    let before = hook.rotator.authorities().unwrap().current.certificate.pem.clone();
    let body = json!({ "stringData": { "tls.key": "garbage", "extra": "x" } });
    secrets(&hook).patch("webhook-ca", &PatchParams::default(), &Patch::Merge(body)).await.unwrap();
    assert_eq!(hook.rotator.refresh().await.unwrap(), BundleState::Written);
    let after = hook.rotator.authorities().unwrap();
    assert_ne!(after.current.certificate.pem, before);
    assert_eq!(after.bundle(), after.current.certificate.pem);
    assert_eq!(hook.rotator.certificate().unwrap().authority, after.current.certificate.pem);
    wait_until_called(&hook.ns).await;
}

#[tokio::test]
async fn a_missing_configuration_is_reported_and_not_fatal() {
    let mut hook = Hook::new("missing").await;
    assert_eq!(hook.rotator.refresh().await.unwrap(), BundleState::NoRecipient);
    assert!(hook.rotator.certificate().is_some());
}

/// The rules of the table for one scope, with the names of this test.
fn rules(hook: &Hook, scope: GrantScope) -> Vec<PolicyRule> {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let rule = |grant: &RbacGrant| PolicyRule {
        api_groups: Some(texts(&[grant.group])),
        resources: Some(texts(&[grant.resource])),
        verbs: texts(grant.verbs),
        resource_names: match (grant.names, grant.resource) {
            ([], _) => None,
            (_, "secrets") => Some(texts(&["webhook-ca"])),
            _ => Some(texts(&[hook.ns.name()])),
        },
        ..PolicyRule::default()
    };
    TABLE
        .iter()
        .filter(|grant| grant.part == OperatorPart::Webhook && grant.scope == scope)
        .map(rule)
        .collect()
}

/// Grants the table to the namespace's default account, and gives a client of that account.
async fn restricted(hook: &Hook) -> Client {
    let (ns, client, post) = (hook.ns.name(), hook.ns.client(), PostParams::default());
    let metadata = ObjectMeta { name: Some(ns.to_owned()), ..ObjectMeta::default() };
    let subject = Subject {
        kind: "ServiceAccount".into(),
        name: "default".into(),
        namespace: Some(ns.into()),
        ..Subject::default()
    };
    let role_ref = |kind: &str| RoleRef {
        api_group: Some("rbac.authorization.k8s.io".into()),
        kind: kind.into(),
        name: ns.into(),
    };
    let role = Role { metadata: metadata.clone(), rules: Some(rules(hook, GrantScope::Own)) };
    Api::namespaced(client.clone(), ns).create(&post, &role).await.unwrap();
    let bound = RoleBinding {
        metadata: metadata.clone(),
        role_ref: role_ref("Role"),
        subjects: Some(vec![subject.clone()]),
    };
    Api::namespaced(client.clone(), ns).create(&post, &bound).await.unwrap();
    let role = ClusterRole {
        metadata: metadata.clone(),
        rules: Some(rules(hook, GrantScope::Cluster)),
        aggregation_rule: None,
    };
    Api::all(client.clone()).create(&post, &role).await.unwrap();
    let bound =
        ClusterRoleBinding { metadata, role_ref: role_ref("ClusterRole"), subjects: Some(vec![subject]) };
    Api::all(client).create(&post, &bound).await.unwrap();
    let mut config = hook.ns.cluster().config().clone();
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{ns}:default"));
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn the_table_of_permissions_is_enough_and_none_of_it_too_much() {
    let hook = Hook::new("permissions").await;
    install(&hook.ns, &hook.base, None).await;
    let client = restricted(&hook).await;
    let mut rotator = rotator_as(client.clone(), &hook.ns, &hook.clock, ServerTls::in_memory(&[]).unwrap());
    // The authorizer sees grants only a moment after they are stored.
    vmafx_testkit::wait::until(crate::hook::TIMEOUT, "the grants", || async {
        let secrets = Api::<Secret>::namespaced(client.clone(), hook.ns.name()).get_opt("webhook-ca").await;
        secrets
            .map(drop)
            .and(configurations_of(&client).get(hook.ns.name()).await.map(drop))
            .map_err(|error| error.to_string())
    })
    .await
    .unwrap();
    assert_eq!(rotator.refresh().await.unwrap(), BundleState::Written);
    // An existing Secret is updated, not created.
    let body = json!({ "stringData": { "tls.key": "garbage" } });
    secrets(&hook).patch("webhook-ca", &PatchParams::default(), &Patch::Merge(body)).await.unwrap();
    assert_eq!(rotator.refresh().await.unwrap(), BundleState::Written);

    let others = Api::<Secret>::namespaced(client.clone(), hook.ns.name());
    assert!(others.get("another").await.is_err_and(is_forbidden));
    assert!(others.list(&kube::api::ListParams::default()).await.is_err_and(is_forbidden));
    assert!(others.delete("webhook-ca", &DeleteParams::default()).await.is_err_and(is_forbidden));
    assert!(configurations_of(&client).get("another").await.is_err_and(is_forbidden));
}

fn configurations_of(client: &Client) -> Api<ValidatingWebhookConfiguration> {
    Api::all(client.clone())
}

fn is_forbidden(error: kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_forbidden())
}
