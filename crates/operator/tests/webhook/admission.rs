//! Violations and warnings as users of the API server get them.

use std::process::{Command, Output, Stdio};

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use vmafx_api::{VmafxModelTraining, VmafxNode};
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::kube::assets::{Binary, ensure};

use crate::hook::{Hook, broken_job, install, job, refusal, wait_until_called};

fn merge(spec: &Value) -> Patch<Value> {
    Patch::Merge(json!({ "spec": spec }))
}

#[tokio::test]
async fn creates_and_updates_are_accepted_or_refused_by_field() {
    let hook = Hook::installed("admission").await;
    let jobs = hook.jobs();
    let post = PostParams::default();

    let status = refusal(jobs.create(&post, &broken_job("bad")).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    assert_eq!(
        status.message,
        "admission webhook \"vmafxjob.vmafx.dev\" denied the request: VmafxJob.vmafx.dev \"bad\" is invalid: \
         spec.reference: Invalid value: \"file://data/ref.mp4\": names another machine: write file:///data/ref.mp4 with \
         three slashes"
    );
    assert_eq!(status.details.unwrap().causes[0].field, "spec.reference");

    jobs.create(&post, &job("good", &json!({}))).await.unwrap();
    let patch = |spec: Value| {
        let jobs = jobs.clone();
        async move { jobs.patch("good", &PatchParams::default(), &merge(&spec)).await }
    };
    patch(json!({ "priority": 5, "reportURI": "s3://bucket/report.json" })).await.unwrap();
    let status = refusal(patch(json!({ "reportURI": "s3://bucket/ref.mp4" })).await);
    assert!(status.message.contains("the report would overwrite spec.reference"), "{}", status.message);
    jobs.delete("good", &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn every_kind_is_validated() {
    let hook = Hook::installed("kinds").await;
    let post = PostParams::default();
    let node = |over: Value| {
        let mut node = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "n" },
                               "spec": { "gpuVendor": "nvidia" } });
        node["spec"]["podTemplate"] = over;
        serde_json::from_value::<VmafxNode>(node).unwrap()
    };
    let nodes = Api::<VmafxNode>::namespaced(hook.ns.client(), hook.ns.name());
    let two = json!({ "spec": { "containers": [{ "name": "a", "image": "i:1" }, { "name": "a" }] } });
    let status = refusal(nodes.create(&post, &node(two)).await);
    let fields: Vec<_> = status.details.unwrap().causes.into_iter().map(|cause| cause.field).collect();
    assert_eq!(
        fields,
        ["spec.podTemplate.spec.containers[1].name", "spec.podTemplate.spec.containers[1].image"]
    );
    nodes.create(&post, &node(json!({ "spec": {} }))).await.unwrap();

    let trainings = Api::<VmafxModelTraining>::namespaced(hook.ns.client(), hook.ns.name());
    let training = |registry: &str| {
        let training = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": { "name": "t" },
            "spec": { "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": registry } });
        serde_json::from_value::<VmafxModelTraining>(training).unwrap()
    };
    let status = refusal(trainings.create(&post, &training("localhost:99999/models")).await);
    assert!(status.message.contains("spec.outputRegistry"), "{}", status.message);
    trainings.create(&post, &training("localhost:5000/models")).await.unwrap();
}

#[tokio::test]
async fn an_object_from_before_the_rules_is_refused_only_for_new_violations() {
    let mut hook = Hook::new("unchanged").await;
    let jobs = hook.jobs();
    let mut old = broken_job("old");
    old.metadata.finalizers = Some(vec!["example.com/held".into()]);
    jobs.create(&PostParams::default(), &old).await.unwrap();
    install(&hook.ns, &hook.base, None).await;
    hook.rotator.refresh().await.unwrap();
    wait_until_called(&hook.ns).await;

    let patch = |body: Value| {
        let jobs = jobs.clone();
        async move { jobs.patch("old", &PatchParams::default(), &Patch::Merge(body)).await }
    };
    patch(json!({ "metadata": { "labels": { "a": "b" } } })).await.unwrap();
    patch(json!({ "spec": { "priority": 7 } })).await.unwrap();
    let live = jobs.get("old").await.unwrap();
    jobs.replace("old", &PostParams::default(), &live).await.unwrap();
    let status = refusal(patch(json!({ "spec": { "reportURI": "s3://bucket" } })).await);
    assert!(!status.message.contains("spec.reference:"), "{}", status.message);
    assert!(status.message.contains("spec.reportURI: "), "{}", status.message);

    jobs.delete("old", &DeleteParams::default()).await.unwrap();
    patch(json!({ "metadata": { "finalizers": null } })).await.unwrap();
    assert!(jobs.get_opt("old").await.unwrap().is_none());
}

#[tokio::test]
async fn updates_of_status_and_scale_are_not_validated() {
    let hook = Hook::installed("subresources").await;
    let nodes = Api::<DynamicObject>::namespaced_with(
        hook.ns.client(),
        hook.ns.name(),
        &ApiResource::erase::<VmafxNode>(&()),
    );
    let node = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "n" },
                       "spec": { "gpuVendor": "cpu" } });
    nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
    let scale = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    nodes.patch_scale("n", &PatchParams::default(), &scale).await.unwrap();
    let status = Patch::Merge(json!({ "status": { "healthy": false } }));
    nodes.patch_status("n", &PatchParams::default(), &status).await.unwrap();
}

fn kubectl(ns: &TestNamespace, object: &Value) -> Output {
    let program = ensure(&[Binary::Kubectl]).unwrap().path(Binary::Kubectl).to_owned();
    let mut child = Command::new(program)
        .arg("--kubeconfig")
        .arg(ns.cluster().kubeconfig_path())
        .args(["--namespace", ns.name(), "apply", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), object.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_shows_the_refusal_and_the_warnings() {
    let hook = Hook::installed("kubectl").await;
    let object = |over: Value| serde_json::to_value(job("shown", &over)).unwrap();
    let refused = kubectl(&hook.ns, &object(json!({ "distorted": "s3://bucket" })));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(text.contains("spec.distorted: Invalid value: \"s3://bucket\": names no object"), "{text}");
    let warned = kubectl(&hook.ns, &object(json!({ "distorted": "s3://bucket/ref.mp4" })));
    let text = String::from_utf8_lossy(&warned.stderr).into_owned();
    assert!(warned.status.success(), "{text}");
    assert!(text.contains("Warning: spec.distorted: is the reference itself"), "{text}");
}
