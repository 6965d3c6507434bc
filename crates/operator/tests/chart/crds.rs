//! The upgrade hook, which updates the CRDs because Helm does not.

use std::process::Command;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions};

use crate::helm::Chart;

const NAMESPACE: &str = "vmafx-system";

/// The permissions that the chart grants to the hook.
fn grants() -> Vec<Grant> {
    let objects = Chart::render(&Chart::values("quick-start"), NAMESPACE);
    let roles = objects.iter().filter(|object| object["metadata"]["name"] == "vmafx-crds");
    let documents: Vec<_> = roles.map(ToString::to_string).collect();
    Grant::from_yaml(&documents.join("\n---\n")).unwrap()
}

/// Whether the CRD of jobs has the field.
async fn has_field(api: &Api<CustomResourceDefinition>) -> bool {
    let all = api.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(all.len(), vmafx_api::crd::all().len());
    let jobs = serde_json::to_value(api.get("vmafxjobs.vmafx.dev").await.unwrap()).unwrap();
    field(&jobs).is_object()
}

fn field(jobs: &Value) -> &Value {
    &jobs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["groundTruth"]
}

#[tokio::test]
async fn an_upgrade_updates_the_crds_with_the_permissions_of_the_hook() {
    let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    let client = plane.client().unwrap();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    let params = PatchParams::apply("test").force();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.patch(NAMESPACE, &params, &Patch::Apply(namespace)).await.unwrap();
    let account = TestServiceAccount::create(&plane, NAMESPACE, "vmafx-crds", &grants()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    account.write_kubeconfig(&kubeconfig, &plane.config().cluster_url.to_string()).unwrap();
    let install = || {
        let output = Command::new(env!("CARGO_BIN_EXE_vmafx-operator"))
            .arg("install-crds")
            .env("KUBECONFIG", &kubeconfig)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    install();
    let api: Api<CustomResourceDefinition> = Api::all(client);
    assert!(has_field(&api).await);

    // The CRD as an older release installed it.
    let mut older = serde_json::to_value(vmafx_api::crd::all()).unwrap()[0].clone();
    assert!(field(&older).is_object(), "{}", older["metadata"]["name"]);
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    older.pointer_mut(path).unwrap().as_object_mut().unwrap().remove("groundTruth");
    api.patch("vmafxjobs.vmafx.dev", &PatchParams::apply("vmafx-operator").force(), &Patch::Apply(older))
        .await
        .unwrap();
    assert!(!has_field(&api).await);
    install();
    assert!(has_field(&api).await);
}
