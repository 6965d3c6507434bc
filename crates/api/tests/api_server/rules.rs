//! Every CEL rule, tried with objects that break it; the message must tell the user what to do.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cluster::{Objects, ResourceKind, namespace};
use crate::paths;

/// Values to set at paths; `null` removes the field.
type Edits = Vec<(&'static str, Value)>;

struct Case {
    kind: ResourceKind,
    /// Edits of the stored object, if the rule is about a change.
    before: Option<Edits>,
    edits: Edits,
    /// The field that the API server must name.
    field: &'static str,
    message: &'static str,
}

const URI: &str =
    "must be a URI such as s3://bucket/clip.mp4 or file:///data/clip.mp4: write the scheme before the path";
const NEW_JOB: &str = "is immutable: create a new VmafxJob instead";
const NEW_TRAINING: &str =
    "is immutable: a run goes on from its own checkpoints; create a new VmafxModelTraining instead";
const EXTERNAL: &str =
    "has no effect with managementPolicy: External; remove it or set managementPolicy to Managed";
const DURATION: &str = "must be a duration of at least one second, such as 30s, 10m or 1h30m";
const REPOSITORY: &str = "must be an OCI repository such as registry.example.com/team/models: \
                          lower-case path, no scheme other than oci://, no tag and no digest";
const NAME: &str = "metadata.name must have at most 100 characters: with a version appended it becomes a tag in the registry";
const NAMESPACES: &str = "must be names of namespaces, or [\"*\"] alone for all of them";
const SIZE: &str = "must be Reference, Distorted, Never or a size such as 1920x1080";

fn create(kind: ResourceKind, field: &'static str, value: Value, message: &'static str) -> Case {
    Case { kind, before: None, edits: vec![(field, value)], field, message }
}

fn change(kind: ResourceKind, field: &'static str, from: Value, to: Value, message: &'static str) -> Case {
    Case { kind, before: Some(vec![(field, from)]), edits: vec![(field, to)], field, message }
}

fn cases() -> Vec<Case> {
    let mut cases = job_cases();
    cases.extend(node_cases());
    cases.extend(training_cases());
    cases.extend(tenant_cases());
    cases
}

fn job_cases() -> Vec<Case> {
    let kind = ResourceKind::Job;
    let mut cases = Vec::new();
    for field in [".spec.reference", ".spec.distorted", ".spec.reportURI"] {
        for bad in [
            "clip.mp4",
            "/data/clip.mp4",
            "C:\\clip.mp4",
            "s3:/bucket/clip",
            "s3://",
            "://clip",
            "1s3://b/c",
            "s3:// b",
        ] {
            cases.push(create(kind, field, json!(bad), URI));
        }
    }
    for field in [".spec.reference", ".spec.distorted"] {
        cases.push(change(kind, field, json!("s3://b/one.mp4"), json!("s3://b/two.mp4"), NEW_JOB));
    }
    cases.push(change(kind, ".spec.model", json!("vmaf_v0.6.1"), json!("vmaf_4k_v0.6.1"), NEW_JOB));
    cases.push(change(kind, ".spec.model", json!("vmaf_v0.6.1"), Value::Null, NEW_JOB));
    cases.push(change(kind, ".spec.model", Value::Null, json!("vmaf_v0.6.1"), NEW_JOB));
    cases.push(change(kind, ".spec.backend", json!("cpu"), json!("cuda"), NEW_JOB));
    cases.push(change(kind, ".spec.backend", json!("cuda"), Value::Null, NEW_JOB));
    cases.push(change(kind, ".spec.execution", json!("Queue"), json!("Pod"), NEW_JOB));
    let revived = "a cancelled job cannot be revived: create a new VmafxJob instead";
    cases.push(change(kind, ".spec.cancel", json!(true), json!(false), revived));
    cases.push(change(kind, ".spec.cancel", json!(true), Value::Null, revived));
    for bad in ["reference", "", "1920", "1920x", "0x1080", "1920x1080p", "19200x1080", "-1x5"] {
        cases.push(create(kind, ".spec.scoring.scaleTo", json!(bad), SIZE));
    }
    let pod_only = "is only used with execution: Pod; remove it or set execution to Pod";
    cases.push(create(kind, ".spec.podTemplate", json!({ "spec": {} }), pod_only));
    cases
}

fn node_cases() -> Vec<Case> {
    let external = |field: &'static str, value: Value, message| Case {
        kind: ResourceKind::Node,
        before: None,
        edits: vec![(".spec", json!({ "gpuVendor": "cpu", "managementPolicy": "External" })), (field, value)],
        field,
        message,
    };
    let serves = |value: Value| create(ResourceKind::Node, ".spec.servesNamespaces", value, NAMESPACES);
    let pause =
        "cannot pause workers that somebody else runs: stop them there, or set managementPolicy to Managed";
    vec![
        external(".spec.image", json!("vmafx-node"), EXTERNAL),
        external(".spec.resources", json!({ "limits": { "cpu": 1 } }), EXTERNAL),
        external(".spec.nodeSelector", json!({ "zone": "a" }), EXTERNAL),
        external(".spec.tolerations", json!([{ "key": "gpu" }]), EXTERNAL),
        external(".spec.podTemplate", json!({ "spec": {} }), EXTERNAL),
        external(".spec.paused", json!(true), pause),
        external(".spec.servesNamespaces", json!(["*"]), EXTERNAL),
        serves(json!(["Studio"])),
        serves(json!(["studio", "*"])),
        serves(json!(["*", "*"])),
        serves(json!(["-studio"])),
    ]
}

fn training_cases() -> Vec<Case> {
    let kind = ResourceKind::Training;
    let mut cases = vec![
        change(kind, ".spec.baseModel", json!("vmaf_v0.6.1"), json!("vmaf_4k_v0.6.1"), NEW_TRAINING),
        change(kind, ".spec.outputRegistry", json!("host/a"), json!("host/b"), NEW_TRAINING),
    ];
    cases.push(create(kind, ".metadata.name", json!("n".repeat(101)), NAME));
    for bad in ["ten minutes", "10", "10 m", "-10m", "10m30", "0s", "999ms", "1d"] {
        cases.push(create(kind, ".spec.checkpoint.interval", json!(bad), DURATION));
    }
    for bad in [
        "models",
        "https://host/models",
        "host/Models",
        "host/models:latest",
        "host/models@sha256:00",
        "host//models",
        "host/models/",
        "-host/models",
    ] {
        cases.push(create(kind, ".spec.outputRegistry", json!(bad), REPOSITORY));
    }
    cases
}

fn tenant_cases() -> Vec<Case> {
    let nobody = "set oidc, namespaces or both: otherwise no caller belongs to the tenant";
    let without_namespaces = |namespaces: Value| Case {
        kind: ResourceKind::Tenant,
        before: None,
        edits: vec![(".spec.oidc", Value::Null), (".spec.namespaces", namespaces)],
        field: ".spec.oidc",
        message: nobody,
    };
    vec![without_namespaces(Value::Null), without_namespaces(json!([]))]
}

fn apply(object: &mut Value, edits: &Edits) {
    for (path, value) in edits {
        paths::set(object, path, (!value.is_null()).then(|| value.clone()));
    }
}

#[tokio::test]
async fn every_broken_rule_is_refused_with_advice() {
    let ns = namespace("rules").await;
    for (number, case) in cases().into_iter().enumerate() {
        let objects = Objects::new(ns.client(), ns.name(), case.kind);
        let mut object = case.kind.valid(&format!("case-{number}"));
        let answer = match &case.before {
            None => {
                apply(&mut object, &case.edits);
                objects.create(&object).await
            }
            Some(before) => {
                apply(&mut object, before);
                objects.create(&object).await.unwrap();
                apply(&mut object, &case.edits);
                objects.replace_spec(&object).await
            }
        };
        let refusal = answer.expect_err(&format!("accepted {:?}", case.edits));
        let field = case.field.trim_start_matches('.');
        assert!(refusal.message.contains(field), "{:?}: {}", case.edits, refusal.message);
        assert!(refusal.message.contains(case.message), "{:?}: {}", case.edits, refusal.message);
    }
}

/// A breach of this rule needs a second algorithm. There is only one, so the enum refuses the value first.
const UNBREAKABLE: [&str; 1] = ["algorithm"];

#[test]
fn every_rule_of_the_definitions_has_a_case() {
    let tried =
        cases().iter().map(|case| format!("{:?} {}", case.kind, case.message)).collect::<BTreeSet<_>>();
    for kind in ResourceKind::ALL {
        for (path, schema) in paths::subschemas(&kind.schema()) {
            for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
                let message = rule["message"].as_str().unwrap();
                assert!(tried.contains(&format!("{kind:?} {message}")), "{kind:?} {path}: {message}");
                if let Some(field) = rule["fieldPath"].as_str().map(|f| f.trim_start_matches('.')) {
                    let field = format!("{path}.{field}");
                    let covered = cases().iter().any(|case| case.field == field && case.message == message);
                    assert!(
                        covered || UNBREAKABLE.iter().any(|f| field.ends_with(f)),
                        "{kind:?} {field}: {message}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn values_at_the_edge_of_a_rule_are_accepted() {
    let ns = namespace("edges").await;
    let edges: Vec<(ResourceKind, &str, Value)> = vec![
        (ResourceKind::Job, ".spec.reference", json!("file:///data/a clip (1).mp4")),
        (ResourceKind::Job, ".spec.reference", json!("rclone://remote:path/clip.mkv")),
        (ResourceKind::Job, ".spec.distorted", json!("svn+ssh.x-1://h")),
        (ResourceKind::Job, ".spec.scoring.scaleTo", json!("1x9999")),
        (ResourceKind::Job, ".spec.backoffLimit", json!(0)),
        (ResourceKind::Job, ".spec.ttlSecondsAfterFinished", json!(0)),
        (ResourceKind::Job, ".spec.groundTruth", json!(0)),
        (ResourceKind::Job, ".spec.model", json!("")),
        (ResourceKind::Job, ".spec.suspend", Value::Null),
        (ResourceKind::Node, ".spec.replicas", json!(0)),
        (ResourceKind::Node, ".spec.resources.limits", json!({ "cpu": 2, "memory": "1Gi" })),
        (ResourceKind::Tenant, ".spec.oidc", Value::Null),
        (ResourceKind::Tenant, ".spec.namespaces", Value::Null),
        (ResourceKind::Tenant, ".spec.oidc.audience", json!("")),
        (ResourceKind::Tenant, ".spec.reports.roots", json!(["r".repeat(4096)])),
        (ResourceKind::Training, ".metadata.name", json!("n".repeat(100))),
        (ResourceKind::Training, ".spec.checkpoint.interval", json!("1s")),
        (ResourceKind::Training, ".spec.checkpoint.interval", json!("1h30m0.5s")),
        (ResourceKind::Training, ".spec.outputRegistry", json!("oci://localhost:5000/a/b-c_d.e")),
    ];
    for (number, (kind, path, value)) in edges.into_iter().enumerate() {
        let mut object = kind.valid(&format!("edge-{number}"));
        paths::set(&mut object, path, Some(value.clone()));
        let answer = Objects::new(ns.client(), ns.name(), kind).create(&object).await;
        assert!(answer.is_ok(), "{path} = {value}: {}", answer.unwrap_err().message);
    }
}

#[tokio::test]
async fn a_job_that_is_not_cancelled_can_be_suspended_relabelled_and_cancelled() {
    let ns = namespace("verbs").await;
    let objects = Objects::new(ns.client(), ns.name(), ResourceKind::Job);
    let mut job = ResourceKind::Job.valid("job");
    objects.create(&job).await.unwrap();
    for (path, value) in [
        (".spec.suspend", json!(true)),
        (".spec.suspend", json!(false)),
        (".spec.groundTruth", json!(71.5)),
        (".spec.priority", json!(3)),
        (".spec.cancel", json!(true)),
        (".spec.ttlSecondsAfterFinished", json!(60)),
    ] {
        paths::set(&mut job, path, Some(value.clone()));
        let answer = objects.replace_spec(&job).await;
        assert!(answer.is_ok(), "{path} = {value}: {}", answer.unwrap_err().message);
    }
}
