#![allow(clippy::needless_pass_by_value, reason = "specs are written where they are used")]

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::template_policy::TemplateScope;
use crate::template_policy::tests::policy;

pub(crate) fn defaults() -> NodeDefaults {
    NodeDefaults {
        image: Some("vmafx-node:1".to_owned()),
        controller: ControllerAccess {
            address: "vmafx-controller.vmafx-system.svc.cluster.local:9090".to_owned(),
            tls: None,
            cluster: "west".to_owned(),
            audience: "vmafx-controller".to_owned(),
        },
        drain_seconds: 300,
        gpus: GpuResources {
            nvidia: "nvidia.com/gpu".to_owned(),
            amd: "amd.com/gpu".to_owned(),
            intel: "gpu.intel.com/i915".to_owned(),
        },
        plain_registries: String::new(),
        guard: WorkerGuard::default(),
        templates: policy(TemplateScope::Any),
    }
}

fn node(spec: Value) -> VmafxNode {
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
        "metadata": {
            "name": "gpu-node-0", "namespace": "video", "uid": "11111111-2222-3333-4444-555555555555",
            "labels": { "rack": "7", "app.kubernetes.io/managed-by": "Helm" },
        },
        "spec": spec,
    }))
    .unwrap()
}

fn set(spec: Value) -> Value {
    render(&node(spec), &defaults()).unwrap().stateful_set
}

fn agent(set: &Value) -> &Value {
    &set["spec"]["template"]["spec"]["containers"][0]
}

fn variable<'a>(set: &'a Value, name: &str) -> Option<&'a str> {
    agent(set)["env"].as_array().unwrap().iter().find(|env| env["name"] == name)?["value"].as_str()
}

#[test]
fn the_stateful_set() {
    insta::assert_json_snapshot!(set(json!({ "gpuVendor": "nvidia", "capacity": 4, "replicas": 3 })));
}

#[test]
fn the_time_that_a_new_worker_must_be_ready() {
    let seconds = |spec: Value| set(spec)["spec"].get("minReadySeconds").cloned();
    assert_eq!(seconds(json!({ "gpuVendor": "cpu", "minReadySeconds": 30 })), Some(json!(30)));
    assert_eq!(seconds(json!({ "gpuVendor": "cpu", "minReadySeconds": 0 })), None);
    assert_eq!(seconds(json!({ "gpuVendor": "cpu" })), None);
}

#[test]
fn the_namespaces_that_workers_serve() {
    let serves = |spec: Value| variable(&set(spec), "VMAFX_NODE_SERVES").map(str::to_owned);
    let many = json!({ "gpuVendor": "cpu", "servesNamespaces": ["studio-a", "studio-b"] });
    assert_eq!(serves(many).as_deref(), Some("studio-a,studio-b"));
    assert_eq!(serves(json!({ "gpuVendor": "cpu", "servesNamespaces": ["*"] })).as_deref(), Some("*"));
    assert_eq!(serves(json!({ "gpuVendor": "cpu" })), None);
}

#[test]
fn the_service() {
    insta::assert_json_snapshot!(render(&node(json!({ "gpuVendor": "cpu" })), &defaults()).unwrap().service);
}

#[test]
fn the_budget() {
    insta::assert_json_snapshot!(render(&node(json!({ "gpuVendor": "cpu" })), &defaults()).unwrap().budget);
}

#[test]
fn neither_defaults_of_the_server_nor_nulls_are_sent() {
    fn check(path: &str, value: &Value) {
        match value {
            Value::Null => panic!("{path} is null"),
            Value::Object(map) => map.iter().for_each(|(key, value)| check(&format!("{path}.{key}"), value)),
            Value::Array(items) => items.iter().for_each(|value| check(&format!("{path}[]"), value)),
            _ => {}
        }
    }
    let set = set(json!({ "gpuVendor": "amd", "podTemplate": { "spec": { "priorityClassName": null } } }));
    check("", &set);
    assert!(set.get("status").is_none() && set["metadata"].get("creationTimestamp").is_none(), "{set}");
}

#[rstest]
#[case("nvidia", "cuda", Some("nvidia.com/gpu"))]
#[case("amd", "hip", Some("amd.com/gpu"))]
#[case("intel", "sycl", Some("gpu.intel.com/i915"))]
#[case("cpu", "cpu", None)]
fn a_vendor_is_a_backend_and_a_resource(
    #[case] vendor: &str,
    #[case] backend: &str,
    #[case] resource: Option<&str>,
) {
    let set = set(json!({ "gpuVendor": vendor, "resources": { "requests": { "cpu": "2" } } }));
    assert_eq!(variable(&set, "VMAFX_BACKEND"), Some(backend));
    let limits = &agent(&set)["resources"]["limits"];
    assert_eq!(limits.as_object().map(serde_json::Map::len), resource.map(|_| 1));
    assert!(resource.is_none_or(|resource| limits[resource] == "1"), "{limits}");
    assert_eq!(agent(&set)["resources"]["requests"]["cpu"], "2");
}

#[test]
fn several_gpus_can_be_requested() {
    let set = set(json!({ "gpuVendor": "nvidia", "resources": { "limits": { "nvidia.com/gpu": "2" } } }));
    assert_eq!(agent(&set)["resources"]["limits"]["nvidia.com/gpu"], "2");
}

#[rstest]
#[case(false, 3, 3)]
#[case(true, 3, 0)]
fn a_paused_node_has_no_workers(#[case] paused: bool, #[case] replicas: i32, #[case] expected: i32) {
    let set = set(json!({ "gpuVendor": "cpu", "replicas": replicas, "paused": paused }));
    assert_eq!(set["spec"]["replicas"], expected);
}

#[test]
fn the_users_template_is_merged_and_the_operators_fields_stay() {
    let set = set(json!({ "gpuVendor": "cpu", "podTemplate": {
        "metadata": { "labels": { "team": "codec", "vmafx.dev/workload": "mine" }, "annotations": { "a": "b" } },
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": "scorer",
            "volumes": [{ "name": "media", "persistentVolumeClaim": { "claimName": "clips" } }],
            "containers": [
                { "name": "agent", "volumeMounts": [{ "name": "media", "mountPath": "/media" }],
                  "env": [{ "name": "VMAFX_SCRATCH_BYTES", "value": "5Gi" }] },
                { "name": "exporter", "image": "exporter:3" },
            ],
        },
    }}));
    let (template, pod) = (&set["spec"]["template"], &set["spec"]["template"]["spec"]);
    assert_eq!(template["metadata"]["labels"]["vmafx.dev/workload"], "vmafx-node-gpu-node-0");
    assert_eq!(template["metadata"]["labels"]["team"], "codec");
    assert_eq!((&pod["restartPolicy"], &pod["serviceAccountName"]), (&json!("Always"), &json!("scorer")));
    assert_eq!(pod["volumes"].as_array().unwrap().len(), 3);
    assert_eq!(agent(&set)["volumeMounts"].as_array().unwrap().len(), 3);
    assert_eq!(variable(&set, "VMAFX_SCRATCH_BYTES"), Some("5Gi"));
    assert_eq!(variable(&set, "VMAFX_NODE_SLOTS"), Some("1"), "other variables stay");
    assert_eq!(pod["containers"][1]["name"], "exporter");
}

#[test]
fn a_field_that_is_newer_than_these_types_is_passed_on() {
    let set = set(json!({ "gpuVendor": "cpu", "podTemplate": { "spec": { "inventedNextYear": true } } }));
    assert_eq!(set["spec"]["template"]["spec"]["inventedNextYear"], true);
}

#[test]
fn the_agent_knows_its_shutdown_time() {
    let default = set(json!({ "gpuVendor": "cpu" }));
    assert_eq!(variable(&default, "VMAFX_NODE_GRACEFUL_SHUTDOWN"), Some("300s"));
    assert_eq!(default["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 315);
    let longer = json!({ "spec": { "terminationGracePeriodSeconds": 7200 } });
    let longer = set(json!({ "gpuVendor": "cpu", "podTemplate": longer }));
    assert_eq!(variable(&longer, "VMAFX_NODE_GRACEFUL_SHUTDOWN"), Some("7185s"));
    assert_eq!(longer["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 7200);
}

#[test]
fn labels_of_tools_are_not_passed_on() {
    let set = set(json!({ "gpuVendor": "nvidia" }));
    assert_eq!(variable(&set, "VMAFX_NODE_LABELS"), Some("gpu.vendor=nvidia,rack=7"));
}

#[test]
fn what_is_missing_is_named() {
    let bare = NodeDefaults { image: None, ..defaults() };
    let error = render(&node(json!({ "gpuVendor": "cpu" })), &bare).unwrap_err();
    assert_eq!(error.to_string(), "no image: set spec.image, or VMAFX_OPERATOR_NODE_IMAGE on the operator");
    let wrong = node(json!({ "gpuVendor": "cpu", "podTemplate": { "spec": { "containers": "agent" } } }));
    let error = render(&wrong, &defaults()).unwrap_err().to_string();
    assert!(error.starts_with("spec.podTemplate: ") && error.contains("containers"), "{error}");
}

#[test]
fn registries_without_tls_are_passed_on_and_can_be_overridden() {
    let defaults = NodeDefaults { plain_registries: "registry:5000".to_owned(), ..defaults() };
    let registries = |spec: Value| {
        let set = render(&node(spec), &defaults).unwrap().stateful_set;
        variable(&set, "VMAFX_OCI_PLAIN_HTTP").map(str::to_owned)
    };
    assert_eq!(registries(json!({ "gpuVendor": "cpu" })).as_deref(), Some("registry:5000"));
    let env = json!([{ "name": "VMAFX_OCI_PLAIN_HTTP", "value": "other:5000" }]);
    let template = json!({ "spec": { "containers": [{ "name": "agent", "env": env }] } });
    assert_eq!(
        registries(json!({ "gpuVendor": "cpu", "podTemplate": template })).as_deref(),
        Some("other:5000")
    );
}
