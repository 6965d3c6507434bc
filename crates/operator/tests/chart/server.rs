//! A real API server accepts all objects of the chart.

use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_testkit::kube::ControlPlane;

use crate::helm::Chart;

/// API groups of other projects, which the test cluster does not have.
const OTHER_GROUPS: [&str; 2] = ["monitoring.coreos.com", "cert-manager.io"];

#[tokio::test]
async fn every_object_is_valid_and_every_pod_meets_the_restricted_security_standard() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("chart").await.unwrap();
    let (client, name) = (namespace.client(), namespace.name());
    let strict = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.patch(name, &PatchParams::default(), &Patch::Merge(strict)).await.unwrap();
    let (mut objects, mut pods, mut of_others) = (0, 0, 0);
    for values in Chart::combinations() {
        let combination = values.file_stem().unwrap().to_str().unwrap();
        for object in Chart::render(&values, name) {
            let kind = object["kind"].as_str().unwrap().to_owned();
            if OTHER_GROUPS.iter().any(|group| object["apiVersion"].as_str().unwrap().starts_with(group)) {
                of_others += 1;
                continue;
            }
            dry_run(&client, &object, combination).await;
            objects += 1;
            if object["spec"]["template"]["spec"]["containers"].is_array() {
                pod(&client, name, &object["spec"]["template"], combination).await;
                pods += 1;
            }
            assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/part-of"], "vmafx", "{kind}");
        }
    }
    assert!(
        objects > 60 && pods > 8 && of_others > 5,
        "{objects} objects, {pods} pods, {of_others} of others"
    );
}

/// Like `kubectl apply --dry-run=server`, with unknown fields refused.
async fn dry_run(client: &Client, object: &Value, combination: &str) {
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let types = object.types.clone().unwrap();
    let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
    let gvk = GroupVersionKind::gvk(group, version, &types.kind);
    let (resource, capabilities) = discovery::pinned_kind(client, &gvk).await.unwrap();
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => Api::namespaced_with(client.clone(), &object.namespace().unwrap(), &resource),
    };
    let params = PatchParams::apply("chart").force().dry_run().validation_strict();
    let answer = api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await;
    assert!(answer.is_ok(), "{combination}: {} {}: {}", types.kind, object.name_any(), answer.unwrap_err());
}

/// Creates a Pod of the template in a dry run, in a namespace that enforces the Pod security level `restricted`.
async fn pod(client: &Client, namespace: &str, template: &Value, combination: &str) {
    let account = template["spec"]["serviceAccountName"].as_str().unwrap_or("default");
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let body = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": account } });
    accounts.patch(account, &PatchParams::apply("chart").force(), &Patch::Apply(body)).await.unwrap();
    let mut pod = template.clone();
    pod["metadata"]["name"] = "shown".into();
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let answer = pods.create(&PostParams { dry_run: true, ..PostParams::default() }, &pod).await;
    assert!(answer.is_ok(), "{combination}: {}", answer.unwrap_err());
}
