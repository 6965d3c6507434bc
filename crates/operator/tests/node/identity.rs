//! The ServiceAccounts of workers, and templates that ask for others. The operator of these tests serves no webhooks and
//! runs in the namespace `default`, where its own account is.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_api::VmafxNode;
use vmafx_testkit::wait;

use crate::fixture::{NodeFixture, SET};
use crate::resources::{TIMEOUT, message, reason, until};

const ACCOUNT: &str = "vmafx-worker";

#[tokio::test]
async fn workers_run_as_an_account_that_the_operator_creates() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    fixture.tracked().await;
    let accounts = fixture.all::<ServiceAccount>();
    let account = accounts.get(ACCOUNT).await.unwrap();
    assert_eq!(account.automount_service_account_token, Some(false));
    assert_eq!(account.owner_references(), [], "it is shared by all resources of the namespace");
    let pod = fixture.sets.get(SET).await.unwrap().spec.unwrap().template.spec.unwrap();
    assert_eq!(pod.service_account_name.as_deref(), Some(ACCOUNT));
    assert_eq!(pod.automount_service_account_token, Some(false));

    accounts.delete(ACCOUNT, &DeleteParams::default()).await.unwrap();
    fixture.change(json!({ "spec": { "replicas": 2 } })).await;
    wait::until(TIMEOUT, "the account to be created again", async || {
        accounts.get_opt(ACCOUNT).await.unwrap().is_some_and(|new| new.uid() != account.uid())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_account_keeps_what_users_gave_it() {
    let fixture = NodeFixture::new().await;
    let accounts = fixture.all::<ServiceAccount>();
    let theirs = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": ACCOUNT, "annotations": { "eks.amazonaws.com/role-arn": "clips" } },
        "imagePullSecrets": [{ "name": "registry" }], "automountServiceAccountToken": true,
    });
    accounts.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    fixture.tracked().await;
    let account = accounts.get(ACCOUNT).await.unwrap();
    assert_eq!(account.automount_service_account_token, Some(false), "that is the operator's");
    assert_eq!(account.annotations()["eks.amazonaws.com/role-arn"], "clips");
    assert_eq!(account.image_pull_secrets.clone().unwrap()[0].name, "registry");

    // A change by a user is neither undone nor followed by writes without end.
    let change = Patch::Merge(json!({ "metadata": { "annotations": { "team": "codec" } } }));
    accounts.patch(ACCOUNT, &PatchParams::default(), &change).await.unwrap();
    fixture.change(json!({ "spec": { "replicas": 3 } })).await;
    fixture.wait_for_replicas(3).await;
    let account = accounts.get(ACCOUNT).await.unwrap();
    assert_eq!(account.annotations()["team"], "codec");
    assert_eq!(account.annotations()["eks.amazonaws.com/role-arn"], "clips");
}

/// As an attacker who may create a VmafxNode in the namespace of the release.
#[tokio::test]
async fn a_node_that_asks_for_the_operators_account_gets_no_pods() {
    let fixture = NodeFixture::new().await;
    let nodes: Api<VmafxNode> = Api::namespaced(fixture.client(), "default");
    for (name, template, field) in [
        ("account", json!({ "serviceAccountName": "vmafx-operator" }), "serviceAccountName"),
        ("token", json!({ "automountServiceAccountToken": true }), "automountServiceAccountToken"),
        ("authority", secret("vmafx-operator-webhook-ca"), "containers[0].env[0].valueFrom.secretKeyRef"),
    ] {
        let node = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": name },
            "spec": { "gpuVendor": "cpu", "podTemplate": { "spec": template } },
        });
        nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
        let node = until(&nodes, name, "the template to be refused", |node| {
            reason(node, "WorkloadSynced") == "PodTemplateForbidden"
        })
        .await;
        let message = message(&node, "WorkloadSynced");
        assert!(message.starts_with(&format!("spec.podTemplate.spec.{field}: ")), "{message}");
        assert_eq!(reason(&node, "Ready"), "PodTemplateForbidden");
        let sets = Api::<k8s_openapi::api::apps::v1::StatefulSet>::namespaced(fixture.client(), "default");
        assert!(sets.get_opt(&format!("vmafx-node-{name}")).await.unwrap().is_none());
        nodes.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

fn secret(name: &str) -> Value {
    let reference =
        json!({ "name": "X", "valueFrom": { "secretKeyRef": { "name": name, "key": "tls.key" } } });
    json!({ "containers": [{ "name": "agent", "env": [reference] }] })
}

#[tokio::test]
async fn without_a_webhook_a_template_with_a_secret_is_not_rendered() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu", "podTemplate": { "spec": secret("s3-credentials") } })).await;
    let node = fixture.until_reason("WorkloadSynced", "PodTemplateForbidden").await;
    let message = message(&node, "WorkloadSynced");
    assert!(message.contains("VMAFX_OPERATOR_POD_TEMPLATES=any"), "{message}");
    fixture.change(json!({ "spec": { "podTemplate": null } })).await;
    fixture.tracked().await;
}
