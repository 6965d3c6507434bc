//! Jobs and Pods for tests, with the status that Kubernetes would write.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use vmafx_api::VmafxJob;
use vmafx_api::job::Execution;
use vmafx_job::ScoringRoots;

use super::observe::ObservedPodJob;
use super::render::{JobDefaults, NAMESPACE_PLACEHOLDER};
use super::snapshot::{BatchJobSnapshot, PodSnapshot};
use crate::job::fixtures;
use crate::render::pod::WorkerGuard;

pub(super) const STARTED: &str = "2026-01-01T00:00:05Z";
pub(super) const ENDED: &str = "2026-01-01T00:00:09Z";

/// Settings with which every resource of these fixtures can be rendered.
pub(super) fn defaults() -> JobDefaults {
    JobDefaults {
        image: Some("vmafx-node:1".to_owned()),
        roots: ScoringRoots::parse("/", NAMESPACE_PLACEHOLDER).unwrap(),
        gpus: crate::node::render::tests::defaults().gpus,
        plain_registries: String::new(),
        guard: WorkerGuard::default(),
        templates: crate::node::render::tests::defaults().templates,
    }
}

pub(super) fn resource(spec: &Value) -> VmafxJob {
    let mut job = fixtures::job(spec, &Value::Null);
    job.spec.execution = Execution::Pod;
    job
}

/// A Kubernetes Job with this status.
pub(super) fn job(status: &Value) -> BatchJobSnapshot {
    specified(&json!({}), status)
}

pub(super) fn specified(spec: &Value, status: &Value) -> BatchJobSnapshot {
    let mut whole = json!({ "backoffLimit": 3, "activeDeadlineSeconds": 60, "template": {} });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let job: Job = serde_json::from_value(json!({
        "metadata": { "name": "vmafx-job-j", "namespace": "video", "uid": "job", "resourceVersion": "1",
            "ownerReferences": [{ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "name": "j", "uid": "u", "controller": true }] },
        "spec": whole, "status": status,
    }))
    .unwrap();
    job.into()
}

/// The condition with which it ends.
pub(super) fn end(type_: &str, reason: &str) -> Value {
    json!([{ "type": type_, "status": "True", "reason": reason, "message": "Kubernetes says so",
             "lastTransitionTime": ENDED }])
}

/// Its `number`th Pod with this status.
pub(super) fn pod(number: u32, status: &Value) -> Arc<PodSnapshot> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": format!("p{number}"), "namespace": "video", "uid": "p", "resourceVersion": "1",
            "creationTimestamp": format!("2026-01-01T00:00:0{number}Z"),
            "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "name": "vmafx-job-j", "uid": "job", "controller": true }] },
        "spec": { "containers": [], "nodeName": "k8s-1" }, "status": status,
    }))
    .unwrap();
    Arc::new(pod.into())
}

/// The status of a Pod whose scoring container has this state.
pub(super) fn agent(phase: &str, state: &Value) -> Value {
    let base = json!({ "name": "agent", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state });
    json!({ "phase": phase, "containerStatuses": [base] })
}

/// The status of a Pod whose scoring container has terminated.
pub(super) fn ended(phase: &str, code: i32, reason: &str, message: &str) -> Value {
    agent(
        phase,
        &json!({ "terminated": {
            "exitCode": code, "reason": reason, "message": message, "startedAt": STARTED, "finishedAt": ENDED,
        }}),
    )
}

pub(super) fn score(score: f64) -> String {
    json!({
        "outcome": "Scored", "score": score, "features": {}, "model": "vmaf_v0.6.1", "modelDigest": "sha256:0",
        "frames": 48, "size": [160, 90], "warnings": [],
        "pooled": { "mean": score, "harmonicMean": 1.0, "min": 0.0, "max": 2.0, "stddev": 3.0,
                    "p1": 4.0, "p5": 5.0, "p10": 6.0, "p50": 7.0 },
    })
    .to_string()
}

pub(super) fn failure(reason: &str, number: i32) -> String {
    json!({ "outcome": "Failed", "reason": reason, "number": number, "message": "why" }).to_string()
}

pub(super) fn observed(job: Option<BatchJobSnapshot>, pods: Vec<Arc<PodSnapshot>>) -> ObservedPodJob {
    ObservedPodJob { job: job.map(Arc::new), pods, leaving: 0 }
}
