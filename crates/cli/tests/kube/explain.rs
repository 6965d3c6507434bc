//! `explain`.

use std::process::{Child, Stdio};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_testkit::command::CommandOutput;
use vmafx_testkit::wait;

use crate::harness::{Harness, TIMEOUT, failed, pending, scored};

/// Creates an event as the operator does.
async fn event(harness: &Harness, about: &Value, reason: &str, note: &str, at: &str) {
    let api: Api<Event> = Api::namespaced(harness.ns.client(), harness.ns.name());
    let event = json!({
        "metadata": { "generateName": "e-", "namespace": harness.ns.name() },
        "action": reason, "reason": reason, "note": note, "type": "Normal", "eventTime": at,
        "reportingController": "vmafx.dev/vmafx-operator", "reportingInstance": "x", "regarding": about,
    });
    api.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

fn about(kind: &str, version: &str, harness: &Harness, name: &str, uid: &str) -> Value {
    json!({ "kind": kind, "apiVersion": version, "namespace": harness.ns.name(), "name": name, "uid": uid })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_job_is_explained_with_what_to_do() {
    let harness = Harness::new().await;
    let job = harness.create_job("a", json!({ "backend": "cuda" })).await;
    let text = harness.kube(&["explain", "a"]).ok();
    assert!(
        text.contains("The operator has not observed the job yet.")
            && text.contains("Check that the operator is running"),
        "{text}"
    );

    harness.set_job_status("a", &pending("NoMatchingNode", "no node offers cuda; 3 offer cpu")).await;
    let about = about("VmafxJob", "vmafx.dev/v1", &harness, "a", &job.uid().unwrap());
    event(&harness, &about, "Submitted", "the controller has it", "2026-01-02T03:04:05.000000Z").await;
    event(&harness, &about, "NoMatchingNode", "second", "2026-01-02T03:05:05.000000Z").await;
    let text = harness.kube(&["explain", "vmjob/a"]).ok();
    assert!(text.contains("No connected node offers what the job needs."), "{text}");
    assert!(
        text.contains("no node offers cuda; 3 offer cpu") && text.contains("kubectl vmafx get nodes -o wide"),
        "{text}"
    );
    assert!(text.find("the controller has it") < text.find("second"), "{text}");
    assert!(text.contains("note: the controller knows the jobs ahead of this one"), "{text}");

    let document = harness.json(&["explain", "a"]);
    assert_eq!((&document["phase"], &document["reason"]), (&json!("Pending"), &json!("NoMatchingNode")));
    assert_eq!((&document["events"][1]["note"], &document["controller"]), (&json!("second"), &Value::Null));
    assert_eq!(document["conditions"].as_array().unwrap().len(), 5);
    harness.kube(&["suspend", "a"]).ok();
    assert!(harness.kube(&["explain", "a"]).ok().contains("The spec has changed since"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_ended_is_explained() {
    let harness = Harness::new().await;
    harness.create_job("good", json!({})).await;
    harness.create_job("bad", json!({})).await;
    harness.set_job_status("good", &scored(93.25, None)).await;
    harness
        .set_job_status(
            "bad",
            &failed("Failed", "InputRefused", "s3://b/bad.mp4 is outside the scoring roots"),
        )
        .await;
    let good = harness.kube(&["explain", "good"]).ok();
    assert!(
        good.contains("93.250") && good.contains("The job has a score.") && !good.contains("What to do"),
        "{good}"
    );
    let bad = harness.kube(&["explain", "bad"]).ok();
    assert!(bad.contains("is outside the scoring roots") && bad.contains("VMAFX_SCORING_ROOTS"), "{bad}");
    assert!(!bad.contains("note:"), "{bad}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_are_shown_with_why_they_do_not_run() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({ "execution": "Pod" })).await;
    harness.set_job_status("a", &pending("JobCreated", "")).await;
    let pods: Api<Pod> = Api::namespaced(harness.ns.client(), harness.ns.name());
    let pod = json!({ "metadata": { "name": "a-1", "labels": { "vmafx.dev/job": "a" } },
        "spec": { "containers": [{ "name": "agent", "image": "x" }] } });
    let pod = pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let status = json!({ "status": { "conditions": [{ "type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/1 nodes have a GPU" }] } });
    pods.patch_status("a-1", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let about = about("Pod", "v1", &harness, "a-1", &pod.uid().unwrap());
    event(&harness, &about, "FailedScheduling", "no GPU", "2026-01-02T03:04:05.000000Z").await;
    let text = harness.kube(&["explain", "a"]).ok();
    assert!(
        text.contains("Unschedulable: 0/1 nodes have a GPU") && text.contains("FailedScheduling"),
        "{text}"
    );
    let document = harness.json(&["explain", "a"]);
    assert_eq!(document["pods"][0]["why"], "Unschedulable: 0/1 nodes have a GPU");
    assert_eq!(document["events"][0]["pod"], "a-1");
}

/// A running `vmafx up`, killed when dropped.
struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_is_asked_if_its_address_is_set() {
    let harness = Harness::new().await;
    let mut up = harness.program(env!("CARGO_BIN_EXE_vmafx"));
    up.args(["up", "--grpc-listen=127.0.0.1:0", "--http-addr=0", "--node-http-addr=0", "--root=/"]);
    let _up = Up(up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let file = harness.path(".local/state/vmafx/up/up.json");
    wait::until(TIMEOUT, "vmafx up", async || file.exists()).await.unwrap();
    let up_json: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut submit = harness.program(env!("CARGO_BIN_EXE_vmafx"));
    let id = CommandOutput::of(submit.args(["submit", "/r.mp4", "/d.mp4", "--backend=cuda"])).ok();

    harness.create_job("a", json!({ "backend": "cuda" })).await;
    let mut status = pending("NoMatchingNode", "no node");
    status["controllerJobID"] = json!(id.trim());
    harness.set_job_status("a", &status).await;
    let explain = |words: &[&str]| {
        let mut command = harness.command(&[&["explain", "a"], words].concat());
        command.env("VMAFX_CONTROLLER_ADDR", up_json["grpc"].as_str().unwrap());
        CommandOutput::of(command.env("VMAFX_CONTROLLER_TOKEN_FILE", up_json["tokenFile"].as_str().unwrap()))
            .ok()
    };
    let text = explain(&[]);
    assert!(text.contains("The controller reports: ") && text.contains("Backend"), "{text}");
    let document: Value = serde_json::from_str(&explain(&["-o", "json"])).unwrap();
    assert_eq!(document["controller"]["reason"], "NoBackend");

    let mut unreachable = harness.command(&["explain", "a"]);
    let text = CommandOutput::of(unreachable.env("VMAFX_CONTROLLER_ADDR", "127.0.0.1:1")).ok();
    assert!(text.contains("note: the controller could not be asked"), "the resource is enough: {text}");
}
