//! Every rule on whole objects, as the webhook receives them.

mod changes;

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::template_policy::TemplateScope;
use crate::template_policy::tests::policy;

pub(super) fn object(kind: ReviewedKind, spec: &Value) -> DynamicObject {
    use vmafx_kit::metrics::MetricLabel;
    let value = json!({
        "apiVersion": "vmafx.dev/v1", "kind": kind.value(), "metadata": { "name": "a" }, "spec": spec,
    });
    serde_json::from_value(value).unwrap()
}

pub(super) fn merged(mut base: Value, over: &Value) -> Value {
    for (key, value) in over.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

pub(super) fn job(over: &Value) -> DynamicObject {
    object(
        ReviewedKind::Job,
        &merged(json!({ "reference": "s3://b/ref.mp4", "distorted": "s3://b/dis.mp4" }), over),
    )
}

pub(super) fn node(over: &Value) -> DynamicObject {
    object(ReviewedKind::Node, &merged(json!({ "gpuVendor": "nvidia" }), over))
}

fn training(over: &Value) -> DynamicObject {
    let base = json!({ "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema",
                       "outputRegistry": "localhost:5000/models" });
    object(ReviewedKind::Training, &merged(base, over))
}

fn template(spec: &Value) -> DynamicObject {
    node(&json!({ "podTemplate": { "spec": spec } }))
}

fn with_container(container: &Value) -> DynamicObject {
    template(&json!({ "containers": [container] }))
}

pub(super) fn validate(kind: ReviewedKind, old: Option<&DynamicObject>, new: &DynamicObject) -> Findings {
    super::validate(kind, "video", old, new, &policy(TemplateScope::Any))
}

/// One violation, with this field and these words.
fn refused(findings: &Findings, field: &str, words: &str) {
    assert_eq!(findings.violations.len(), 1, "{findings:#?}");
    let violation = &findings.violations[0];
    assert_eq!(violation.field, field);
    assert!(violation.message.contains(words), "{}", violation.message);
}

#[rstest]
#[case::reference(json!({ "reference": "ref.mp4" }), "spec.reference", "write the scheme before the path")]
#[case::distorted(json!({ "distorted": "/data/d.mp4" }), "spec.distorted", "write the scheme before the path")]
#[case::file_host(json!({ "distorted": "file://data/d.mp4" }), "spec.distorted", "write file:///data/d.mp4")]
#[case::report(json!({ "reportURI": "s3://reports" }), "spec.reportURI", "names no object")]
#[case::report_over_clip(json!({ "reportURI": "s3://b/ref.mp4" }), "spec.reportURI", "would overwrite spec.reference")]
#[case::report_format(json!({ "reportURI": "s3://b/report.v2" }), "spec.reportURI", "not a report format")]
#[case::model(json!({ "model": "https://h/m.json" }), "spec.model", "oci://registry/repository:tag")]
#[case::restart_policy(
    json!({ "execution": "Pod", "podTemplate": { "spec": { "restartPolicy": "Always" } } }),
    "spec.podTemplate.spec.restartPolicy",
    "must be Never"
)]
#[case::gpu(
    json!({ "execution": "Pod", "backend": "hip", "podTemplate": { "spec": { "containers": [
        { "name": "agent", "resources": { "limits": { "nvidia.com/gpu": 1 } } }
    ] } } }),
    "spec.podTemplate.spec.containers[0].resources.limits[nvidia.com/gpu]",
    "this container uses GPUs of amd"
)]
fn a_broken_job_is_refused_by_field(#[case] over: Value, #[case] field: &str, #[case] words: &str) {
    refused(&validate(ReviewedKind::Job, None, &job(&over)), field, words);
}

#[rstest]
#[case::vendor(json!({ "gpuVendor": "matrox" }), "spec.gpuVendor", "\"matrox\": use one of nvidia, amd, intel, cpu")]
#[case::image(json!({ "image": "https://r/i:1" }), "spec.image", "without a scheme")]
#[case::quantity(
    json!({ "resources": { "limits": { "memory": "2GB" } } }),
    "spec.resources.limits[memory]",
    "write an amount such as"
)]
#[case::negative(json!({ "resources": { "limits": { "cpu": "-1" } } }), "spec.resources.limits[cpu]", "negative")]
#[case::limits(
    json!({ "resources": { "requests": { "memory": "3Gi" }, "limits": { "memory": "2G" } } }),
    "spec.resources.requests[memory]",
    "must not be more than the limit, 2G"
)]
#[case::device_without_limit(
    json!({ "resources": { "requests": { "nvidia.com/gpu": 1 } } }),
    "spec.resources.requests[nvidia.com/gpu]",
    "devices need a limit"
)]
#[case::half_a_device(
    json!({ "resources": { "limits": { "example.com/fpga": "500m" } } }),
    "spec.resources.limits[example.com/fpga]",
    "devices are whole"
)]
#[case::other_vendor(
    json!({ "resources": { "limits": { "amd.com/gpu": 1 } } }),
    "spec.resources.limits[amd.com/gpu]",
    "this container uses GPUs of nvidia"
)]
#[case::gpu_without_vendor(
    json!({ "gpuVendor": "cpu", "resources": { "limits": { "nvidia.com/gpu": 1 } } }),
    "spec.resources.limits[nvidia.com/gpu]",
    "this container uses no GPU"
)]
#[case::selector_key(json!({ "nodeSelector": { "a b": "c" } }), "spec.nodeSelector", "\"a b\"")]
#[case::selector_value(json!({ "nodeSelector": { "zone": "a b" } }), "spec.nodeSelector[zone]", "\"a b\"")]
#[case::toleration_key(json!({ "tolerations": [{ "key": "/gpu" }] }), "spec.tolerations[0].key", "a key is")]
#[case::toleration_value(
    json!({ "tolerations": [{ "key": "gpu", "operator": "Exists", "value": "x" }] }),
    "spec.tolerations[0].value",
    "Exists takes no value"
)]
#[case::toleration_of_nothing(json!({ "tolerations": [{}] }), "spec.tolerations[0].operator", "use Exists")]
#[case::toleration_effect(
    json!({ "tolerations": [{ "key": "gpu", "effect": "NoWay" }] }),
    "spec.tolerations[0].effect",
    "use one of NoSchedule"
)]
#[case::toleration_seconds(
    json!({ "tolerations": [{ "key": "gpu", "tolerationSeconds": 5 }] }),
    "spec.tolerations[0].effect",
    "only to NoExecute"
)]
fn a_broken_node_is_refused_by_field(#[case] over: Value, #[case] field: &str, #[case] words: &str) {
    refused(&validate(ReviewedKind::Node, None, &node(&over)), field, words);
}

#[rstest]
#[case::model(json!({ "baseModel": "s3://m" }), "spec.baseModel", "must be the name of a model")]
#[case::port(json!({ "outputRegistry": "host:99999/m" }), "spec.outputRegistry", "is not a valid host")]
#[case::image(json!({ "image": "a b" }), "spec.image", "without spaces")]
#[case::selector(
    json!({ "dataSource": { "nodeSelector": { "pool": "-" } } }),
    "spec.dataSource.nodeSelector[pool]",
    "a value has"
)]
#[case::own_image(
    json!({ "podTemplate": { "spec": { "containers": [{ "name": "trainer", "image": "i:1" }] } } }),
    "spec.podTemplate.spec.containers[0].image",
    "set spec.image instead"
)]
#[case::own_variable(
    json!({ "podTemplate": { "spec": { "containers": [
        { "name": "trainer", "env": [{ "name": "VMAFX_TRAINER_CHECKPOINT_INTERVAL", "value": "1s" }] }
    ] } } }),
    "spec.podTemplate.spec.containers[0].env[0].name",
    "set spec.checkpoint.interval instead"
)]
#[case::own_volume(
    json!({ "podTemplate": { "spec": { "volumes": [{ "name": "registry-credentials", "emptyDir": {} }] } } }),
    "spec.podTemplate.spec.volumes[0].name",
    "set spec.registrySecret instead"
)]
#[case::name_of_the_training_container(
    json!({ "podTemplate": { "spec": { "initContainers": [{ "name": "trainer", "image": "i:1" }] } } }),
    "spec.podTemplate.spec.initContainers[0].name",
    "the training container has this name"
)]
#[case::gpu(
    json!({ "podTemplate": { "spec": { "containers": [
        { "name": "trainer", "resources": { "limits": { "nvidia.com/gpu": 1 } } }
    ] } } }),
    "spec.podTemplate.spec.containers[0].resources.limits[nvidia.com/gpu]",
    "this container uses no GPU"
)]
fn a_broken_training_is_refused_by_field(#[case] over: Value, #[case] field: &str, #[case] words: &str) {
    refused(&validate(ReviewedKind::Training, None, &training(&over)), field, words);
}

#[rstest]
#[case::wrong_type(
    template(&json!({ "containers": [{ "name": "agent", "env": [{ "name": "A" }, { "name": 1 }] }] })),
    "spec.podTemplate.spec.containers[0].env[1].name",
    "invalid type: integer `1`, expected a string"
)]
#[case::not_a_list(template(&json!({ "volumes": {} })), "spec.podTemplate.spec.volumes", "expected a sequence")]
#[case::restart_policy(
    template(&json!({ "restartPolicy": "OnFailure" })),
    "spec.podTemplate.spec.restartPolicy",
    "must be Always"
)]
#[case::deadline(
    template(&json!({ "activeDeadlineSeconds": 5 })),
    "spec.podTemplate.spec.activeDeadlineSeconds",
    "run until they are deleted"
)]
#[case::hostname(template(&json!({ "hostname": "h" })), "spec.podTemplate.spec.hostname", "named by their StatefulSet")]
#[case::debug_containers(
    template(&json!({ "ephemeralContainers": [{ "name": "d" }] })),
    "spec.podTemplate.spec.ephemeralContainers",
    "kubectl debug"
)]
#[case::selector_label(
    node(&json!({ "podTemplate": { "metadata": { "labels": { "vmafx.dev/workload": "x" } } } })),
    "spec.podTemplate.metadata.labels[vmafx.dev/workload]",
    "belongs to the operator"
)]
#[case::own_annotation(
    node(&json!({ "podTemplate": { "metadata": { "annotations": { "vmafx.dev/succeeds": "x" } } } })),
    "spec.podTemplate.metadata.annotations[vmafx.dev/succeeds]",
    "belongs to the operator"
)]
#[case::pod_name(
    node(&json!({ "podTemplate": { "metadata": { "name": "x" } } })),
    "spec.podTemplate.metadata.name",
    "remove it"
)]
#[case::label_value(
    node(&json!({ "podTemplate": { "metadata": { "labels": { "team": "a b" } } } })),
    "spec.podTemplate.metadata.labels[team]",
    "a value has"
)]
#[case::nameless(
    with_container(&json!({ "image": "a:1" })),
    "spec.podTemplate.spec.containers[0].name",
    "the scoring container is named agent"
)]
#[case::bad_name(
    with_container(&json!({ "name": "Side_Car", "image": "a:1" })),
    "spec.podTemplate.spec.containers[0].name",
    "lower-case"
)]
#[case::same_name(
    template(&json!({ "initContainers": [{ "name": "a", "image": "i:1" }],
                      "containers": [{ "name": "agent" }, { "name": "a", "image": "i:1" }] })),
    "spec.podTemplate.spec.containers[1].name",
    "two containers have this name"
)]
#[case::name_of_the_scoring_container(
    template(&json!({ "initContainers": [{ "name": "agent", "image": "i:1" }] })),
    "spec.podTemplate.spec.initContainers[0].name",
    "the scoring container has this name"
)]
#[case::sidecar_without_image(
    with_container(&json!({ "name": "proxy" })),
    "spec.podTemplate.spec.containers[0].image",
    "needs an image"
)]
#[case::own_image(
    with_container(&json!({ "name": "agent", "image": "i:1" })),
    "spec.podTemplate.spec.containers[0].image",
    "set spec.image instead"
)]
#[case::own_variable(
    with_container(&json!({ "name": "agent", "env": [{ "name": "VMAFX_NODE_SLOTS", "value": "9" }] })),
    "spec.podTemplate.spec.containers[0].env[0].name",
    "set spec.capacity instead"
)]
#[case::same_variable(
    with_container(&json!({ "name": "agent", "env": [{ "name": "A" }, { "name": "A" }] })),
    "spec.podTemplate.spec.containers[0].env[1].name",
    "two variables have this name"
)]
#[case::own_volume(
    template(&json!({ "volumes": [{ "name": "vmafx-token", "emptyDir": {} }] })),
    "spec.podTemplate.spec.volumes[0].name",
    "use another name"
)]
#[case::same_volume(
    template(&json!({ "volumes": [{ "name": "a", "emptyDir": {} }, { "name": "a", "emptyDir": {} }] })),
    "spec.podTemplate.spec.volumes[1].name",
    "two volumes have this name"
)]
#[case::no_such_volume(
    with_container(&json!({ "name": "agent", "volumeMounts": [{ "name": "media", "mountPath": "/media" }] })),
    "spec.podTemplate.spec.containers[0].volumeMounts[0].name",
    "there is no such volume"
)]
#[case::same_mount_path(
    with_container(&json!({ "name": "agent", "volumeMounts": [
        { "name": "scratch", "mountPath": "/m" }, { "name": "vmafx-token", "mountPath": "/m" }
    ] })),
    "spec.podTemplate.spec.containers[0].volumeMounts[1].mountPath",
    "two volumes are mounted at this path"
)]
#[case::other_gpu(
    with_container(&json!({ "name": "agent", "resources": { "limits": { "gpu.intel.com/i915": 1 } } })),
    "spec.podTemplate.spec.containers[0].resources.limits[gpu.intel.com/i915]",
    "this container uses GPUs of nvidia"
)]
#[case::selector(
    template(&json!({ "nodeSelector": { "zone": "?" } })),
    "spec.podTemplate.spec.nodeSelector[zone]",
    "a value has"
)]
fn a_broken_template_is_refused_by_field(
    #[case] object: DynamicObject,
    #[case] field: &str,
    #[case] words: &str,
) {
    refused(&validate(ReviewedKind::Node, None, &object), field, words);
}

#[test]
fn a_typical_template_passes_without_warnings() {
    let object = node(&json!({
        "image": "registry.example.com/vmafx/node:1.0",
        "resources": { "requests": { "cpu": 2, "memory": "2Gi" }, "limits": { "memory": "2Gi", "nvidia.com/gpu": 2 } },
        "nodeSelector": { "topology.kubernetes.io/zone": "a" },
        "tolerations": [{ "operator": "Exists" }, { "key": "gpu", "effect": "NoExecute", "tolerationSeconds": 5 }],
        "podTemplate": {
            "metadata": { "labels": { "team": "video" }, "annotations": { "Example.com/note": "any text at all" } },
            "spec": {
                "serviceAccountName": "media",
                "initContainers": [{ "name": "wait", "image": "busybox:1.36", "command": ["true"] }],
                "containers": [
                    { "name": "agent", "env": [{ "name": "VMAFX_SCRATCH_BYTES", "value": "10Gi" }],
                      "volumeMounts": [{ "name": "media", "mountPath": "/media", "readOnly": true }] },
                    { "name": "proxy", "image": "proxy:2", "env": [{ "name": "VMAFX_NODE_SLOTS", "value": "mine" }],
                      "resources": { "limits": { "amd.com/gpu": 1 } },
                      "volumeMounts": [{ "name": "scratch", "mountPath": "/scratch" }] },
                ],
                "volumes": [
                    { "name": "media", "persistentVolumeClaim": { "claimName": "media" } },
                    { "name": "scratch", "emptyDir": { "sizeLimit": "50Gi" } },
                ],
            },
        },
    }));
    assert_eq!(validate(ReviewedKind::Node, None, &object), Findings::default());
}

#[test]
fn a_sidecar_of_a_trainer_may_have_a_name_that_is_reserved_for_agents() {
    let template = json!({ "spec": { "serviceAccountName": "learner", "containers": [
        { "name": "trainer", "resources": { "requests": { "cpu": "500m" } } },
        { "name": "agent", "image": "proxy:1", "env": [{ "name": "VMAFX_BACKEND", "value": "mine" }] },
    ] } });
    let object = training(&json!({ "podTemplate": template }));
    assert_eq!(validate(ReviewedKind::Training, None, &object), Findings::default());
}

#[test]
fn a_job_in_a_pod_of_its_own_chooses_its_image_in_the_template() {
    let template = json!({ "spec": { "containers": [{ "name": "agent", "image": "node:2" }] } });
    let object = job(&json!({ "execution": "Pod", "podTemplate": template }));
    assert_eq!(validate(ReviewedKind::Job, None, &object), Findings::default());
}

#[rstest]
#[case::same_clip(ReviewedKind::Job, job(&json!({ "distorted": "s3://b/ref.mp4" })), "spec.distorted: is the reference itself")]
#[case::ground_truth_in_a_pod(ReviewedKind::Job, job(&json!({ "groundTruth": 50, "execution": "Pod" })), "nothing learns from them")]
#[case::gone_at_once(ReviewedKind::Job, job(&json!({ "ttlSecondsAfterFinished": 0 })), "nobody keeps its score")]
#[case::image(ReviewedKind::Node, node(&json!({ "image": "node" })), "write a fixed tag or a digest")]
#[case::paused(ReviewedKind::Node, node(&json!({ "paused": true, "replicas": 0 })), "no worker will start")]
#[case::misspelt(
    ReviewedKind::Node,
    with_container(&json!({ "name": "agent", "volumeMount": [] })),
    "unknown field \"spec.podTemplate.spec.containers[0].volumeMount\""
)]
#[case::node_name(ReviewedKind::Node, template(&json!({ "nodeName": "n1" })), "without the scheduler")]
#[case::gate(ReviewedKind::Training, training(&json!({ "gate": { "maxRmseRatio": 0 } })), "the stable tag will never move")]
#[case::anonymous(ReviewedKind::Training, training(&json!({ "outputRegistry": "r.example.com/m" })), "pushed anonymously")]
fn a_valid_value_that_is_probably_a_mistake_gets_a_warning(
    #[case] kind: ReviewedKind,
    #[case] object: DynamicObject,
    #[case] words: &str,
) {
    let findings = validate(kind, None, &object);
    assert_eq!(findings.violations, []);
    assert_eq!(findings.warnings.len(), 1, "{findings:?}");
    assert!(findings.warnings[0].contains(words), "{findings:?}");
}

#[test]
fn a_spec_of_another_release_is_refused_with_the_reason() {
    let findings = validate(ReviewedKind::Job, None, &job(&json!({ "backend": "quantum" })));
    refused(&findings, "spec", "unknown variant `quantum`");
}
