//! Users with and without permissions, whose resources a real API server has reviewed.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};
use vmafx_testkit::kube::TestCluster;
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};

use crate::hook::{Hook, refusal};

/// A user who may do everything with the resources of VMAFX, and what these rules permit besides.
async fn user(hook: &Hook, name: &str, rules: &[Value]) -> Client {
    let mut all = vec![json!({
        "apiGroups": ["vmafx.dev"], "resources": ["vmafxnodes", "vmafxjobs", "vmafxmodeltrainings"],
        "verbs": ["get", "create", "patch"],
    })];
    all.extend(rules.iter().cloned());
    let role = json!({ "metadata": { "name": name }, "rules": all });
    let role = Grant::Namespace(serde_json::from_value(role).unwrap());
    let cluster = hook.ns.cluster();
    let account = TestServiceAccount::create(cluster, hook.ns.name(), name, &[role]).await.unwrap();
    let files = tempfile::tempdir().unwrap();
    let kubeconfig = files.path().join("kubeconfig");
    account.write_kubeconfig(&kubeconfig, &cluster.config().cluster_url.to_string()).unwrap();
    TestCluster::from_kubeconfig(&kubeconfig).await.unwrap().client().unwrap()
}

fn pods() -> Value {
    json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["create"] })
}

fn secret(name: &str) -> Value {
    json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": ["get"] })
}

/// One resource of each kind, all of which lead to Pods.
fn resources() -> [(ApiResource, Value); 3] {
    let clips = json!({ "execution": "Pod", "reference": "s3://b/r.mp4", "distorted": "s3://b/d.mp4" });
    let training = json!({
        "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "localhost:5000/models",
    });
    [
        (ApiResource::erase::<VmafxNode>(&()), json!({ "gpuVendor": "cpu" })),
        (ApiResource::erase::<VmafxJob>(&()), clips),
        (ApiResource::erase::<VmafxModelTraining>(&()), training),
    ]
}

async fn create(
    hook: &Hook,
    client: &Client,
    (kind, spec): (&ApiResource, &Value),
    name: &str,
) -> kube::Result<DynamicObject> {
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), hook.ns.name(), kind);
    let object = json!({
        "apiVersion": kind.api_version, "kind": kind.kind, "metadata": { "name": name }, "spec": spec,
    });
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
}

#[tokio::test]
async fn only_who_may_create_pods_has_the_operator_create_them() {
    let hook = Hook::installed("pods").await;
    let (without, with) = (user(&hook, "without", &[]).await, user(&hook, "with", &[pods()]).await);
    for (kind, spec) in &resources() {
        let status = refusal(create(&hook, &without, (kind, spec), "a").await);
        assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
        let who = format!("system:serviceaccount:{}:without", hook.ns.name());
        assert!(status.message.contains(&format!("{who:?} may not create Pods")), "{}", status.message);
        create(&hook, &with, (kind, spec), "a").await.unwrap();
    }
    // A job in the queue runs no Pod.
    let queued = json!({ "reference": "s3://b/r.mp4", "distorted": "s3://b/d.mp4" });
    create(&hook, &without, (&resources()[1].0, &queued), "queued").await.unwrap();
}

#[tokio::test]
async fn a_template_may_name_the_secrets_that_its_author_may_get() {
    let hook = Hook::installed("secrets").await;
    let author = user(&hook, "author", &[pods(), secret("ours")]).await;
    let node = |secret: &str| {
        let agent = json!({ "name": "agent", "envFrom": [{ "secretRef": { "name": secret } }] });
        json!({ "gpuVendor": "cpu", "podTemplate": { "spec": { "containers": [agent] } } })
    };
    let kind = &resources()[0].0;
    create(&hook, &author, (kind, &node("ours")), "ours").await.unwrap();
    let status = refusal(create(&hook, &author, (kind, &node("theirs")), "theirs").await);
    let field = "spec.podTemplate.spec.containers[0].envFrom[0].secretRef names the Secret theirs";
    assert!(status.code == 403 && status.message.contains(field), "{}", status.message);
    // The database of the release, whatever the author may do.
    let status = refusal(create(&hook, &hook.ns.client(), (kind, &node("database")), "database").await);
    assert!(status.code == 422 && status.message.contains("belongs to the release"), "{}", status.message);
}

#[tokio::test]
async fn an_update_is_reviewed_only_if_it_changes_what_runs() {
    let hook = Hook::installed("updates").await;
    let (kind, spec) = &resources()[0];
    create(&hook, &hook.ns.client(), (kind, spec), "pool").await.unwrap();
    let without = user(&hook, "without", &[]).await;
    let nodes = Api::<VmafxNode>::namespaced(without, hook.ns.name());
    let patch = |body: Value| {
        let nodes = nodes.clone();
        async move { nodes.patch("pool", &PatchParams::default(), &Patch::Merge(body)).await }
    };
    patch(json!({ "spec": { "paused": true, "replicas": 3 } })).await.unwrap();
    patch(json!({ "metadata": { "labels": { "a": "b" } } })).await.unwrap();
    let status = refusal(patch(json!({ "spec": { "image": "theirs:1" } })).await);
    assert!(status.message.contains("may not create Pods"), "{}", status.message);
}

/// The operator's role does not permit the review.
#[tokio::test]
async fn a_review_that_fails_refuses_and_says_so() {
    let hook = Hook::without_reviews("fails").await;
    let (kind, spec) = &resources()[0];
    let status = refusal(create(&hook, &hook.ns.client(), (kind, spec), "pool").await);
    assert_eq!((status.code, status.reason.as_str()), (500, "InternalError"));
    assert!(status.message.contains("the operator cannot find out what"), "{}", status.message);
}
